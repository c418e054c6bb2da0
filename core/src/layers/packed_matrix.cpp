#include "layers/packed_matrix.hpp"

#include <algorithm>

#include "validation.hpp"

namespace attn {

using kernels::Bf16Pair;
using kernels::index;
using kernels::kPanelWidth;

namespace {

/// Columns that tasks take where rows are few, or weights are widened.
constexpr index kColumnBlock = 16 * kPanelWidth;

constexpr index blocks_of(index count, index block) { return (count + block - 1) / block; }

/// A task's part of y = x · Bᵀ.
struct ProductPart {
  index rows, cols;
  index col;  ///< its first
  const float* x;
  float* y;
  int worker;
};

/// Calls multiply(part) for the parts of a product, on all threads. `split_columns`: in blocks of
/// columns, whatever the number of rows.
template <class Multiply>
void for_product_parts(const ConstTensor& x, const Tensor& y, index task_rows, index tile_rows,
                       bool split_columns, runtime::Execution& run, Multiply&& multiply) noexcept {
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

  // One thread takes all rows at once; several take blocks that are as equal as whole tiles can be,
  // the same number of them each, and none much larger than the kernel's.
  const bool shared = run.num_threads() > 1;
  const index tiles = std::max<index>(blocks_of(rows, tile_rows), 1);
  const index row_blocks =
      shared ? std::min(kernels::round_up(std::max<index>(blocks_of(rows, task_rows), 1),
                                          run.num_threads()),
                        tiles)
             : 1;
  const auto block_begin = [&](index block) {
    return std::min(tiles * block / row_blocks * tile_rows, rows);
  };
  // Few rows are divided by columns as well, so that every thread has work.
  split_columns = split_columns || (shared && batch * row_blocks < 4 * run.num_threads());
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
    multiply(ProductPart{
        .rows = block_begin(block + 1) - row,
        .cols = std::min(column_block, cols - col),
        .col = col,
        .x = x.data() + row * x.stride(-2) + (batched ? b * x.stride(0) : 0),
        .y = y.data() + row * y.stride(-2) + col * y.stride(-1) + (batched ? b * y.stride(0) : 0),
        .worker = worker});
  });
}

template <class Args>
Args product_args(const ProductPart& part, const ConstTensor& x, const float* bias,
                  const Tensor& y) noexcept {
  Args args;
  args.rows = part.rows;
  args.cols = part.cols;
  args.depth = x.size(-1);
  args.a = part.x;
  args.a_row = x.stride(-2);
  args.a_col = x.stride(-1);
  args.bias = bias ? bias + part.col : nullptr;
  args.c = part.y;
  args.c_row = y.stride(-2);
  args.c_col = y.stride(-1);
  return args;
}

/// Panels of pairs as panels of floats.
void widen_panels(const Bf16Pair* pairs, index cols, index depth, float* panels) noexcept {
  for (index col = 0; col < cols; col += kPanelWidth) {
    for (index k = 0; k < depth; k += 2, pairs += kPanelWidth) {
      for (index c = 0; c < kPanelWidth; ++c) panels[c] = BFloat16::from_bits(pairs[c].first);
      panels += kPanelWidth;
      if (k + 1 == depth) continue;
      for (index c = 0; c < kPanelWidth; ++c) panels[c] = BFloat16::from_bits(pairs[c].second);
      panels += kPanelWidth;
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t cols, ElementType type)
    : rows_(rows), cols_(cols), type_(type) {
  const index size = type == ElementType::kBFloat16 ? kernels::bf16_packed_size(rows_, cols_)
                                                    : kernels::packed_size(rows_, cols_);
  packed_.assign(validation::allocation("weight", size / kernels::kPanelWidth, sizeof(PanelRow)),
                 {});
}

void pack_matrix(const ConstTensor& matrix, float* packed, index packed_cols,
                 runtime::Execution& run) noexcept {
  // Packed a few panels per task, by one call where they lie one after the other.
  constexpr index kRowsPerTask = 4 * kPanelWidth;
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

template <class Pair, class F>
void PackedMatrix::for_numbers(Pair* pairs, F&& body) const noexcept {
  for (index row = 0; row < rows_; row += kPanelWidth) {
    for (index col = 0; col < cols_; col += 2, pairs += kPanelWidth) {
      for (index c = 0; c < std::min(kPanelWidth, rows_ - row); ++c) {
        body(pairs[c].first, row + c, col);
        if (col + 1 < cols_) body(pairs[c].second, row + c, col + 1);
      }
    }
  }
}

void PackedMatrix::unpack(const Tensor& weight) const noexcept {
  for_numbers(pairs(), [&](std::uint16_t bits, index row, index col) {
    *weight.pointer(row, col) = BFloat16::from_bits(bits);
  });
}

void PackedMatrix::pack(const ConstTensor& weight, Context& context, std::int64_t first_col) {
  if (type_ == ElementType::kBFloat16) {
    return for_numbers(reinterpret_cast<Bf16Pair*>(packed()),
                       [&](std::uint16_t& bits, index row, index col) {
                         bits = BFloat16(*weight.pointer(row, col)).bits();
                       });
  }
  runtime::Execution run(context);
  pack_matrix(weight, packed() + first_col * kernels::kPanelWidth, cols_, run);
}

float* take_product_scratch(index depth, runtime::Execution& run) {
  return run.floats(run.kernels().product_scratch(depth) * run.num_threads(), "matrix product");
}

float* PackedMatrix::take_scratch(runtime::Execution& run) const {
  if (type_ != ElementType::kBFloat16) return take_product_scratch(cols_, run);
  const kernels::Bf16Table* const table = run.bf16_kernels();
  const index size = table ? table->product_scratch(cols_)
                           : run.kernels().product_scratch(cols_) + kColumnBlock * cols_;
  return run.floats(size * run.num_threads(), "matrix product");
}

void PackedMatrix::multiply(const ConstTensor& x, const float* bias, const Tensor& y,
                            runtime::Execution& run, float* scratch) const noexcept {
  if (type_ != ElementType::kBFloat16) {
    return multiply_packed(x, packed(), bias, y, run, scratch);
  }
  const index pair_cols = (cols_ + 1) / 2;
  if (const kernels::Bf16Table* const table = run.bf16_kernels()) {
    const index size = table->product_scratch(cols_);
    return for_product_parts(x, y, table->product_rows, table->product_tile_rows, false, run,
                             [&](const ProductPart& part) noexcept {
                               auto args = product_args<kernels::Bf16ProductArgs>(part, x, bias, y);
                               args.packed_b = pairs() + part.col * pair_cols;
                               table->product(args, scratch + part.worker * size);
                             });
  }
  const kernels::KernelTable& kernels = run.kernels();
  const index product_size = kernels.product_scratch(cols_);
  const index size = product_size + kColumnBlock * cols_;
  for_product_parts(x, y, kernels.product_rows, kernels.product_tile_rows, true, run,
                    [&](const ProductPart& part) noexcept {
                      float* const memory = scratch + part.worker * size;
                      float* const panels = memory + product_size;
                      widen_panels(pairs() + part.col * pair_cols, part.cols, cols_, panels);
                      auto args = product_args<kernels::ProductArgs>(part, x, bias, y);
                      args.packed_b = panels;
                      kernels.product(args, memory);
                    });
}

void multiply_packed(const ConstTensor& x, const float* packed, const float* bias, const Tensor& y,
                     runtime::Execution& run, float* scratch) noexcept {
  const kernels::KernelTable& kernels = run.kernels();
  const index scratch_size = kernels.product_scratch(x.size(-1));
  for_product_parts(x, y, kernels.product_rows, kernels.product_tile_rows, false, run,
                    [&](const ProductPart& part) noexcept {
                      auto args = product_args<kernels::ProductArgs>(part, x, bias, y);
                      args.packed_b = packed + part.col * x.size(-1);
                      kernels.product(args, scratch + part.worker * scratch_size);
                    });
}

}  // namespace attn
