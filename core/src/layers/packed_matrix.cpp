#include "layers/packed_matrix.hpp"

#include <algorithm>

#include "validation.hpp"

namespace attn {

using kernels::index;

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {
  const index size = kernels::packed_size(rows_, cols_);
  packed_.assign(validation::allocation("weight", size / kernels::kPanelWidth, sizeof(PanelRow)),
                 {});
}

void pack_matrix(const ConstTensor& matrix, float* packed, index packed_cols,
                 runtime::Execution& run) noexcept {
  // Packed a few panels per task, by one call where they lie one after the other.
  constexpr index kRowsPerTask = 4 * kernels::kPanelWidth;
  const index rows = matrix.size(0);
  const index rows_per_call = packed_cols == matrix.size(1) ? kRowsPerTask : kernels::kPanelWidth;
  const double elements = static_cast<double>(rows) * static_cast<double>(matrix.size(1));
  run.parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, elements,
                   [&](index task, int) noexcept {
                     const index end = std::min(rows, (task + 1) * kRowsPerTask);
                     for (index row = task * kRowsPerTask; row < end; row += rows_per_call) {
                       run.kernels().pack(std::min(rows_per_call, end - row), matrix.size(1),
                                          matrix.pointer(row, 0), matrix.stride(0),
                                          matrix.stride(1), packed + row * packed_cols);
                     }
                   });
}

void PackedMatrix::pack(const ConstTensor& weight, Context& context, std::int64_t first_col) {
  runtime::Execution run(context);
  pack_matrix(weight, packed() + first_col * kernels::kPanelWidth, cols_, run);
}

float* take_product_scratch(index depth, runtime::Execution& run) {
  return run.floats(run.kernels().product_scratch(depth) * run.num_threads(), "matrix product");
}

float* PackedMatrix::take_scratch(runtime::Execution& run) const {
  return take_product_scratch(cols_, run);
}

void PackedMatrix::multiply(const ConstTensor& x, const float* bias, const Tensor& y,
                            runtime::Execution& run, float* scratch) const noexcept {
  multiply_packed(x, packed(), bias, y, run, scratch);
}

void multiply_packed(const ConstTensor& x, const float* packed, const float* bias, const Tensor& y,
                     runtime::Execution& run, float* scratch) noexcept {
  const index depth = x.size(-1);
  const index cols = y.size(-1);
  const bool batched = x.rank() == 3;
  const auto joins = [](const auto& t) { return t.stride(0) == t.size(1) * t.stride(1); };
  index batch = batched ? x.size(0) : 1;
  index rows = x.size(-2);
  if (batched && joins(x) && joins(y)) {
    rows *= batch;
    batch = 1;
  }
  const kernels::KernelTable& kernels = run.kernels();
  const index scratch_size = kernels.product_scratch(depth);

  // One thread takes all rows at once; several take blocks that are as equal as whole tiles can be,
  // the same number of them each, and none much larger than the kernel's.
  const auto blocks_of = [](index count, index block) { return (count + block - 1) / block; };
  const bool shared = run.num_threads() > 1;
  const index tiles = std::max<index>(blocks_of(rows, kernels.product_tile_rows), 1);
  const index row_blocks =
      shared ? std::min(kernels::round_up(std::max<index>(blocks_of(rows, kernels.product_rows), 1),
                                          run.num_threads()),
                        tiles)
             : 1;
  const auto block_begin = [&](index block) {
    return std::min(tiles * block / row_blocks * kernels.product_tile_rows, rows);
  };
  // Few rows are divided by columns as well, so that every thread has work.
  constexpr index kColumnBlock = 16 * kernels::kPanelWidth;
  const bool split_columns = shared && batch * row_blocks < 4 * run.num_threads();
  const index column_block = split_columns ? kColumnBlock : std::max<index>(cols, 1);
  const index column_blocks = blocks_of(cols, column_block);

  const double multiply_adds =
      static_cast<double>(batch * rows) * static_cast<double>(cols * depth);
  const index tasks = batch * row_blocks * column_blocks;
  run.parallel_for(tasks, multiply_adds, [&](index task, int worker) noexcept {
    const index col = task % column_blocks * column_block;
    const index block = task / column_blocks % row_blocks;
    const index row = block_begin(block);
    const index b = task / column_blocks / row_blocks;
    kernels::ProductArgs args;
    args.rows = block_begin(block + 1) - row;
    args.cols = std::min(column_block, cols - col);
    args.depth = depth;
    args.a_row = x.stride(-2);
    args.a_col = x.stride(-1);
    args.a = x.data() + row * args.a_row + (batched ? b * x.stride(0) : 0);
    args.packed_b = packed + col * depth;
    args.bias = bias ? bias + col : nullptr;
    args.c_row = y.stride(-2);
    args.c_col = y.stride(-1);
    args.c = y.data() + row * args.c_row + col * args.c_col + (batched ? b * y.stride(0) : 0);
    kernels.product(args, scratch + worker * scratch_size);
  });
}

}  // namespace attn
