#include "attn/layers/layer_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "row_runs.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Elements computed by one task, at most a row more.
constexpr std::int64_t kElementsPerTask = 8192;

/// The first elements of the rows: the view without its last dimension.
template <class T>
TensorView<T> row_starts(const TensorView<T>& view) {
  const TensorView<T> starts = view.select(-1, 0);
  return starts.rank() == 0 ? starts.unsqueeze(0) : starts;
}

}  // namespace

LayerNorm::LayerNorm(std::int64_t width, const LayerNormOptions& options)
    : width_(width), options_(options) {
  validation::require_at_least("width", width, 1);
  if (!(options.eps >= 0) || !std::isfinite(options.eps)) {
    validation::fail_value("eps", options.eps, {"a finite number of at least 0"});
  }
  if (!options.elementwise_affine) return;
  parameters_.add("weight", std::array{width});
  if (options.bias) parameters_.add("bias", std::array{width});
  initialize();
}

void LayerNorm::initialize() noexcept {
  for (const char* name : {"weight", "bias"}) {
    if (!parameters_.contains(name)) continue;
    std::fill_n(parameters_.mutable_view(name).data(), width_, *name == 'w' ? 1.0F : 0.0F);
  }
}

std::vector<std::string> LayerNorm::parameter_names() const { return parameters_.names(); }

ConstTensor LayerNorm::parameter(std::string_view name) const { return parameters_.get(name); }

void LayerNorm::set_parameter(std::string_view name, const ConstTensor& values) {
  parameters_.set(name, values);
}

void LayerNorm::forward(const ConstTensor& x, const Tensor& output, Context& context) const {
  run(x, nullptr, output, context);
}

void LayerNorm::forward_sum(const ConstTensor& x, const ConstTensor& y, const Tensor& output,
                            Context& context) const {
  run(x, &y, output, context);
}

void LayerNorm::run(const ConstTensor& x, const ConstTensor* y, const Tensor& output,
                    Context& context) const {
  if (x.rank() < 1 || x.size(-1) != width_) {
    validation::fail_shape("x", x.shape(), {"a last size of ", width_});
  }
  validation::require_data("x", x);
  if (y) {
    validation::require_same_shape("y", *y, x);
    validation::require_data("y", *y);
  }
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);

  runtime::Execution run(context);
  const std::int64_t scratch_size = kernels::round_up(width_, run.kernels().vector_width);
  float* scratch =
      run.floats(validation::product("x", {scratch_size, run.num_threads()}), "layer norm");
  const std::int64_t count = validation::product("x", x.shape()) / width_;
  if (count == 0) return;
  const ConstTensor from = row_starts(x);
  const ConstTensor addend = y ? row_starts(*y) : ConstTensor();
  const Tensor to = row_starts(output);
  const bool has_weight = options_.elementwise_affine;
  const float* weight = has_weight ? parameters_.get("weight").data() : nullptr;
  const float* bias = has_weight && options_.bias ? parameters_.get("bias").data() : nullptr;

  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kElementsPerTask / width_);
  run.parallel_for(
      (count + rows_per_task - 1) / rows_per_task, [&](std::int64_t task, int worker) noexcept {
        const std::int64_t begin = task * rows_per_task;
        const auto normalize_run = [&](std::int64_t first, std::int64_t size) noexcept {
          kernels::LayerNormArgs args;
          args.rows = size;
          args.cols = width_;
          args.x = element(from, first);
          args.x_row = from.stride(-1);
          args.x_col = x.stride(-1);
          if (y) {
            args.addend = element(addend, first);
            args.addend_row = addend.stride(-1);
            args.addend_col = y->stride(-1);
          }
          args.weight = weight;
          args.bias = bias;
          args.epsilon = options_.eps;
          args.out = element(to, first);
          args.out_row = to.stride(-1);
          args.out_col = output.stride(-1);
          run.kernels().layer_norm(args, scratch + worker * scratch_size);
        };
        for_row_runs(from.size(-1), begin, std::min(begin + rows_per_task, count), normalize_run);
      });
}

}  // namespace attn
