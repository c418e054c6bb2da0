#include "attn/attention/masked_softmax.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Numbers handled by one task, about.
constexpr std::int64_t kNumbersPerTask = 16384;

/// (A, H, N, K) from rank 2, 3 or 4.
template <class T>
TensorView<T> with_rank_4(TensorView<T> view) {
  while (view.rank() < 4) view = view.unsqueeze(0);
  return view;
}

/// Checks the lengths; gives them a stride for each of A, H and N.
std::array<std::int64_t, 3> check_lengths(const ConstLengths& lens, const ConstTensor& x) {
  std::array<std::int64_t, 3> strides{};
  if (lens.is_none()) return strides;
  const bool per_row = lens.rank() == 2 && x.rank() > 2;
  if (per_row) {
    validation::require_shape("valid_lens", lens, {x.size(0), x.size(-2)});
  } else {
    validation::require_shape("valid_lens", lens, {x.size(0)});
  }
  validation::require_data("valid_lens", lens);
  for (std::int64_t b = 0; b < lens.size(0); ++b) {
    for (std::int64_t i = 0; i < (per_row ? lens.size(1) : 1); ++i) {
      const std::int64_t length = per_row ? lens(b, i) : lens(b);
      if (length < 0 || length > x.size(-1)) {
        validation::fail_value("valid_lens", length,
                               {"a length between 0 and the ", x.size(-1), " columns of x"});
      }
    }
  }
  strides[static_cast<std::size_t>(4 - x.rank())] = lens.stride(0);
  if (per_row) strides[2] = lens.stride(1);
  return strides;
}

}  // namespace

void masked_softmax(const ConstTensor& x, const Tensor& output, const MaskedSoftmaxOptions& options,
                    Context& context) {
  if (x.rank() < 2 || x.rank() > 4) {
    validation::fail_shape("x", x.shape(), {"(N, K), (B, N, K) or (B, H, N, K)"});
  }
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  const std::array<std::int64_t, 3> length_strides = check_lengths(options.valid_lens, x);
  const ConstTensor from = with_rank_4(x);
  const Tensor to = with_rank_4(output);
  const std::int64_t heads = from.size(1);
  const std::int64_t rows = from.size(2);
  const std::int64_t cols = from.size(3);
  ConstMask mask;
  if (!options.mask.is_none()) {
    validation::require_data("mask", options.mask);
    mask = validation::broadcast("mask", options.mask, {from.size(0), heads, rows, cols});
  }
  if (std::ranges::count(x.shape(), 0) != 0) return;

  runtime::Execution run(context);
  const std::int64_t scratch_size = kernels::round_up(cols, kernels::kPanelWidth);
  float* scratch =
      run.floats(validation::product("x", {scratch_size, run.num_threads()}), "masked softmax");
  const std::int64_t block_rows = std::max<std::int64_t>(1, kNumbersPerTask / cols);
  const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
  run.parallel_for(from.size(0) * heads * blocks, [&](std::int64_t task, int worker) noexcept {
    const std::int64_t row = task % blocks * block_rows;
    const std::int64_t h = task / blocks % heads;
    const std::int64_t b = task / blocks / heads;
    kernels::SoftmaxArgs args;
    args.rows = std::min(block_rows, rows - row);
    args.cols = cols;
    args.x = from.pointer(b, h, row);
    args.x_row = from.stride(2);
    args.x_col = from.stride(3);
    args.out = to.pointer(b, h, row);
    args.out_row = to.stride(2);
    args.out_col = to.stride(3);
    if (!options.valid_lens.is_none()) {
      args.lengths = options.valid_lens.data() + b * length_strides[0] + h * length_strides[1] +
                     row * length_strides[2];
      args.length_row = length_strides[2];
    }
    if (!mask.is_none()) {
      args.mask = mask.pointer(b, h, row);
      args.mask_row = mask.stride(2);
      args.mask_col = mask.stride(3);
    }
    run.kernels().softmax(args, scratch + worker * scratch_size);
  });
}

}  // namespace attn
