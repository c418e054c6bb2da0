#include "layers/norm.hpp"

#include <algorithm>
#include <type_traits>

#include "elementwise.hpp"
#include "layers/intermediate_writer.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

/// The rows of a tensor of any element type and rank.
template <bool Constant>
class NormRows {
 public:
  using Float = std::conditional_t<Constant, const float, float>;

  explicit NormRows(const AnyTensorView<Constant>& view) : view_(view) {
    const AnyTensorView<Constant> starts = view.select(-1, 0);
    starts_ = starts.rank() == 0 ? starts.unsqueeze(0) : starts;
  }

  /// Number of consecutive rows that have a constant stride.
  index run_length() const noexcept { return starts_.size(-1); }
  index row() const noexcept { return starts_.stride(-1); }
  index col() const noexcept { return view_.stride(-1); }
  auto* at(index first) const noexcept {
    return starts_.visit(
        [&](const auto& starts) -> decltype(view_.data()) { return element(starts, first); });
  }

  /// Returns the rows starting at row `first`. The view's numbers must be float32.
  kernels::Strided<Float> floats(index first) const noexcept {
    return {static_cast<Float*>(at(first)), row(), col()};
  }

  /// Writes several rows as float32 to contiguous memory.
  void widen(index first, index count, float* to, const kernels::KernelTable& kernels) const {
    kernels::WidenArgs args;
    args.rows = count;
    args.cols = args.padded_cols = view_.size(-1);
    args.from = {view_.type(), at(first), row(), nullptr, 0};
    args.from_col = col();
    args.to = {to, args.cols};
    kernels.widen(args);
  }
  void narrow(index first, index count, const float* from,
              const kernels::KernelTable& kernels) const {
    kernels::NarrowArgs args;
    args.rows = count;
    args.cols = view_.size(-1);
    args.from = {from, args.cols};
    args.type = view_.type();
    args.to = at(first);
    args.to_row = row();
    args.to_col = col();
    kernels.narrow(args);
  }

 private:
  AnyTensorView<Constant> view_, starts_;
};

}  // namespace

void check_norm_options(std::int64_t width, float eps) {
  validation::require_at_least("width", width, 1);
  validation::require_finite_at_least_zero("eps", eps);
}

void normalize(const Module& layer, const kernels::NormArgs& args, const ConstAnyTensor& x,
               const ConstAnyTensor* y, const AnyTensor& output, Context& context,
               Intermediates* intermediates) {
  const index width = args.cols;
  if (x.rank() < 1 || x.size(-1) != width) {
    validation::fail_shape("x", x.shape(), {"a last dimension of size ", width});
  }
  validation::require_data("x", x);
  if (y) {
    validation::require_same_shape("y", y->shape(), x.shape());
    validation::require_data("y", *y);
  }
  validation::require_same_shape("output", output.shape(), x.shape());
  validation::require_data("output", output);

  IntermediateWriter writer(layer, intermediates);
  runtime::Execution run(context);
  const Tensor intermediate = writer.prepare("output", output);
  const index vectors = kernels::round_up(width, run.kernels().vector_width);
  const index rows_per_task = std::max<index>(1, kElementsPerTask / width);
  // Rows of types other than float32 are widened task by task.
  const bool widens = x.type() != ElementType::kFloat32 || output.type() != ElementType::kFloat32 ||
                      (y && y->type() != ElementType::kFloat32);
  const index block = widens ? validation::product("x", {rows_per_task, width}) : 0;
  const index scratch_size = validation::product("x", {vectors + 2 * block});
  float* scratch = run.floats(validation::product("x", {scratch_size, run.num_threads()}), "norm");
  const index count = validation::product("x", x.shape()) / width;
  if (count == 0) return writer.finish();
  const NormRows<true> from(x), addend(y ? *y : x);
  const NormRows<false> to(output);

  run.parallel_for(kernels::ceil_divide(count, rows_per_task), [&](index task,
                                                                   int worker) noexcept {
    float* const memory = scratch + worker * scratch_size;
    const index begin = task * rows_per_task;
    const auto normalize_run = [&](index first, index size) noexcept {
      kernels::NormArgs row_args = args;
      row_args.rows = size;
      if (args.statistics) row_args.statistics = args.statistics + first;
      if (widens) {
        float* const values = memory + vectors;
        from.widen(first, size, values, run.kernels());
        row_args.x = row_args.out = {values, width};
        if (y) {
          addend.widen(first, size, values + block, run.kernels());
          row_args.addend = {values + block, width};
        }
        run.kernels().norm(row_args, memory);
        return to.narrow(first, size, values, run.kernels());
      }
      row_args.x = from.floats(first);
      if (y) row_args.addend = addend.floats(first);
      row_args.out = to.floats(first);
      run.kernels().norm(row_args, memory);
    };
    for_row_runs(from.run_length(), begin, std::min(begin + rows_per_task, count), normalize_run);
  });
  writer.finish_value("output", intermediate, output, run);
  writer.finish();
}

}  // namespace attn
