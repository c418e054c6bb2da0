#include "attn/attention/masked_softmax.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rows.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Approximate number of elements per task.
constexpr std::int64_t kNumbersPerTask = 16384;

}  // namespace

void masked_softmax(const ConstTensor& x, const Tensor& output, const MaskedSoftmaxOptions& options,
                    Context& context) {
  if (x.rank() < 2 || x.rank() > 4) {
    validation::fail_shape("x", x.shape(), {"(N, K), (B, N, K) or (B, H, N, K)"});
  }
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  // With rank 2, each row is a batch entry.
  const LengthsView& lens = options.valid_lens;
  const bool rows_are_batch = x.rank() == 2;
  validation::require_lengths("valid_lens", lens, x.size(0), rows_are_batch ? -1 : x.size(-2),
                              x.size(-1), "columns of x");
  if (!lens.is_none() && x.size(-1) > INT32_MAX) {
    validation::fail(ErrorCode::kSizeOverflow, "x", {x.size(-1), " columns, with valid_lens"},
                     {"at most 2147483647"});
  }
  const ConstTensor from = with_heads(x);
  const Tensor to = with_heads(output);
  const std::int64_t heads = from.size(1);
  const std::int64_t rows = from.size(2);
  const std::int64_t cols = from.size(3);
  ConstMask mask;
  if (!options.mask.is_none()) {
    validation::require_data("mask", options.mask);
    mask = with_heads(validation::broadcast("mask", options.mask, x.shape()));
  }
  if (std::ranges::count(x.shape(), 0) != 0) return;

  runtime::Execution run(context);
  const std::int64_t scratch_size = kernels::round_up(cols, kernels::kPanelWidth);
  float* scratch =
      run.floats(validation::product("x", {scratch_size, run.num_threads()}), "masked softmax");
  // Converts the lengths to 32-bit integers, which the kernels read. There is one length per row,
  // or one length for all rows of a batch entry.
  std::int32_t* lengths = nullptr;
  const bool is_length_per_row = lens.rank() == 2 || rows_are_batch;
  const std::int64_t length_rows = is_length_per_row ? rows : 1;
  if (!lens.is_none()) {
    lengths =
        run.take<std::int32_t>(validation::product("valid_lens", lens.shape()), "masked softmax");
    for (std::int64_t i = 0; i < lens.size(0); ++i) {
      for (std::int64_t j = 0; j < (lens.rank() == 2 ? rows : 1); ++j) {
        const std::int64_t length = lens.rank() == 2 ? lens(i, j) : lens(i);
        lengths[lens.rank() == 2 ? i * rows + j : i] = static_cast<std::int32_t>(length);
      }
    }
  }
  const std::int64_t block_rows = std::max<std::int64_t>(1, kNumbersPerTask / cols);
  const std::int64_t blocks = kernels::ceil_divide(rows, block_rows);
  run.parallel_for(from.size(0) * heads * blocks, [&](std::int64_t task, int worker) noexcept {
    const std::int64_t row = task % blocks * block_rows;
    const std::int64_t h = task / blocks % heads;
    const std::int64_t b = task / blocks / heads;
    kernels::SoftmaxArgs args;
    args.rows = std::min(block_rows, rows - row);
    args.cols = cols;
    args.x = rows_at(from, b, h, row);
    args.out = rows_at(to, b, h, row);
    if (lengths) {
      args.length_row = is_length_per_row ? 1 : 0;
      args.lengths = lengths + b * length_rows + row * args.length_row;
    }
    if (!mask.is_none()) args.mask = rows_at(mask, b, h, row);
    run.kernels().softmax(args, scratch + worker * scratch_size);
  });
}

}  // namespace attn
