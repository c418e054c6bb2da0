#include "training/products.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "elementwise.hpp"
#include "layers/packed_matrix.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn::training {

using kernels::index;

ConstTensor transposed(const ConstTensor& x) {
  return ConstTensor(x.data(), std::array{x.size(1), x.size(0)},
                     std::array{x.stride(1), x.stride(0)});
}

void multiply(const ConstTensor& a, const ConstTensor& b, const Tensor& c, Context& context) {
  runtime::Execution run(context);
  float* packed = run.floats(kernels::packed_size(b.size(0), b.size(1)), "matrix product");
  float* scratch = take_product_scratch(b.size(1), run);
  pack_matrix(b, packed, b.size(1), run);
  multiply_packed(a, packed, nullptr, c, run, scratch);
}

namespace {

/// The depth is the number of rows in a whole batch. The sum is split into chunks along the depth,
/// so that each packed chunk of b fits in a second-level cache.
void multiply_all_transposed(const ConstTensor& a, const ConstTensor& b, const Tensor& c,
                             Context& context) {
  constexpr index kChunk = 256;
  constexpr index kColumns = 16 * kernels::kPanelWidth;
  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();
  const index depth = a.size(0), rows = c.size(0), cols = c.size(1);
  const index chunks = std::max<index>(kernels::ceil_divide(depth, kChunk), 1);
  const index packed_chunk = kernels::packed_size(cols, kChunk);
  float* packed = run.floats(validation::product("x", {chunks, packed_chunk}), "matrix product");
  float* scratch = take_product_scratch(kChunk, run);
  const auto depth_of = [&](index chunk) { return std::min(kChunk, depth - chunk * kChunk); };
  const double elements = static_cast<double>(depth) * static_cast<double>(cols);
  run.parallel_for(chunks, elements, [&](index chunk, int) noexcept {
    kernels.pack(cols, depth_of(chunk), b.pointer(chunk * kChunk), b.stride(1), b.stride(0),
                 packed + chunk * packed_chunk);
  });
  // Rows that are a multiple of this many floats apart evict each other from caches. The rows of
  // `a` are then copied with a different stride.
  constexpr index kCacheAlias = 1024;
  ConstTensor from = a;
  if (a.stride(0) % kCacheAlias == 0) {
    const index padded = rows + kernels::kPanelWidth;
    float* memory = run.floats(validation::product("x", {depth, padded}), "matrix product");
    const Tensor apart(memory, std::array{depth, rows}, std::array<index, 2>{padded, 1});
    copy(a, apart, run);
    from = apart;
  }
  // Blocks are whole tiles, and there are enough of them to keep all threads busy.
  const index tile = kernels.product_tile_rows;
  const index wanted = 4 * run.num_threads();
  const index column_blocks = run.num_threads() > 1 ? kernels::ceil_divide(cols, kColumns) : 1;
  const index block_cols = column_blocks > 1 ? kColumns : cols;
  const index row_tiles = kernels::ceil_divide(rows, tile);
  const index block_tiles = std::max<index>(1, row_tiles * column_blocks / wanted);
  const index block_rows = run.num_threads() > 1 ? block_tiles * tile : std::max<index>(rows, 1);
  const index row_blocks = kernels::ceil_divide(rows, block_rows);
  const double multiply_adds = static_cast<double>(depth) * static_cast<double>(rows * cols);
  const index scratch_size = kernels.product_scratch(kChunk);
  run.parallel_for(row_blocks * column_blocks, multiply_adds, [&](index task, int worker) noexcept {
    kernels::ProductArgs args;
    const index row = task / column_blocks * block_rows;
    const index col = task % column_blocks * block_cols;
    args.rows = std::min(block_rows, rows - row);
    args.cols = std::min(block_cols, cols - col);
    args.c = rows_at(c, row, col);
    for (index chunk = 0; chunk < chunks; ++chunk) {
      args.depth = depth_of(chunk);
      args.a = {from.pointer(chunk * kChunk, row), from.stride(1), from.stride(0)};
      args.packed_b = packed + chunk * packed_chunk + col * args.depth;
      args.add = chunk > 0;
      kernels.product(args, scratch + worker * scratch_size);
    }
  });
}

/// Tests the exponent bits, because compilers vectorise that test.
bool is_finite(const ConstTensor& row) {
  constexpr std::uint32_t kExponent = 0x7f800000U;
  std::uint32_t found = 0;
  for (index i = 0; i < row.size(0); ++i) {
    found |= (std::bit_cast<std::uint32_t>(row(i)) & kExponent) == kExponent ? 1U : 0U;
  }
  return found == 0;
}

bool is_zero(const ConstTensor& row) {
  for (index i = 0; i < row.size(0); ++i) {
    if (row(i) != 0.0F) return false;
  }
  return true;
}

}  // namespace

void multiply_transposed(const ConstTensor& a, const ConstTensor& b, const Tensor& c,
                         Context& context) {
  multiply_all_transposed(a, b, c, context);
  // If b is finite, rows of zeros in `a` add nothing to c. Check c instead of b: c is smaller, and
  // c is not finite if b is not finite.
  index row = 0;
  while (row < c.size(0) && is_finite(c.select(0, row))) ++row;
  if (row == c.size(0)) return;
  runtime::Execution run(context);
  const Tensor selected(run.floats(validation::product("x", b.shape()), "matrix product"),
                        b.shape());
  copy(b, selected, run);
  for (index i = 0; i < b.size(0); ++i) {
    if (is_zero(a.select(0, i))) std::fill_n(selected.pointer(i), b.size(1), 0.0F);
  }
  multiply_all_transposed(a, selected, c, context);
}

}  // namespace attn::training
