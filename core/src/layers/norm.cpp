#include "layers/norm.hpp"

#include <algorithm>

#include "elementwise.hpp"
#include "layers/showing.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// The first elements of the rows: the view without its last dimension.
template <class T>
TensorView<T> row_starts(const TensorView<T>& view) {
  const TensorView<T> starts = view.select(-1, 0);
  return starts.rank() == 0 ? starts.unsqueeze(0) : starts;
}

}  // namespace

void check_norm_options(std::int64_t width, float eps) {
  validation::require_at_least("width", width, 1);
  validation::require_finite_at_least_zero("eps", eps);
}

void normalize(const Module& layer, const kernels::NormArgs& how, const ConstTensor& x,
               const ConstTensor* y, const Tensor& output, Context& context,
               Intermediates* intermediates) {
  const std::int64_t width = how.cols;
  if (x.rank() < 1 || x.size(-1) != width) {
    validation::fail_shape("x", x.shape(), {"a last size of ", width});
  }
  validation::require_data("x", x);
  if (y) {
    validation::require_same_shape("y", *y, x);
    validation::require_data("y", *y);
  }
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);

  Showing show(layer, intermediates);
  runtime::Execution run(context);
  const Tensor shown = show.take("output", output.shape());
  const std::int64_t scratch_size = kernels::round_up(width, run.kernels().vector_width);
  float* scratch = run.floats(validation::product("x", {scratch_size, run.num_threads()}), "norm");
  const std::int64_t count = validation::product("x", x.shape()) / width;
  if (count == 0) return show.done();
  const ConstTensor from = row_starts(x);
  const ConstTensor addend = y ? row_starts(*y) : ConstTensor();
  const Tensor to = row_starts(output);

  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kElementsPerTask / width);
  run.parallel_for(
      (count + rows_per_task - 1) / rows_per_task, [&](std::int64_t task, int worker) noexcept {
        const std::int64_t begin = task * rows_per_task;
        const auto normalize_run = [&](std::int64_t first, std::int64_t size) noexcept {
          kernels::NormArgs args = how;
          args.rows = size;
          args.x = element(from, first);
          args.x_row = from.stride(-1);
          args.x_col = x.stride(-1);
          if (y) {
            args.addend = element(addend, first);
            args.addend_row = addend.stride(-1);
            args.addend_col = y->stride(-1);
          }
          args.out = element(to, first);
          args.out_row = to.stride(-1);
          args.out_col = output.stride(-1);
          if (how.statistics) args.statistics = how.statistics + first;
          run.kernels().norm(args, scratch + worker * scratch_size);
        };
        for_row_runs(from.size(-1), begin, std::min(begin + rows_per_task, count), normalize_run);
      });
  show.fill(shown, output, run);
  show.done();
}

}  // namespace attn
