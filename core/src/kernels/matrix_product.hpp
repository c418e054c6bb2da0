#pragma once

#include <algorithm>

#include "kernels/bf16/tiles.hpp"
#include "kernels/product_args.hpp"
#include "kernels/product_tile.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// The largest depth that is summed before C is written back. Blocks of 384 and 512 are no faster.
inline constexpr index kDepthBlock = 256;
/// Number of columns of B that are processed together. One depth block of these columns stays in
/// the second-level cache while all rows of A are processed.
inline constexpr index kColumnBlock = 512;
/// Number of rows of A that stay in the first-level cache for a block of B: one tile, or several if
/// a tile has few rows, so that a panel of B is fetched once for all of them. With AVX-512, two to
/// four tiles are no faster than one.
template <class Isa>
inline constexpr index kCachedRows = std::max(16 / Isa::kRows, 1) * Isa::kRows;
/// Number of floats per depth in a copy of kCachedRows rows of A that stays transposed.
template <class Isa>
inline constexpr index kCopiedColumn = round_up(kCachedRows<Isa>, kWidth<Isa>);
/// Rows that are this many floats apart map to the same set of a first-level cache and evict each
/// other.
inline constexpr index kCacheAlias = 1024;

/// Number of rows per task when several threads share a product.
template <class Isa>
inline constexpr index kTaskRows = 196 / Isa::kRows * Isa::kRows;

/// Depth of each block except the last; blocks are as equal as possible.
constexpr index depth_block(index depth) noexcept {
  const index blocks = (depth + kDepthBlock - 1) / kDepthBlock;
  return ceil_divide(depth, blocks);
}

template <class Isa>
void pack(index cols, index depth, const float* b, index col_stride, index depth_stride,
          float* packed) noexcept {
  index col = 0;
  // Contiguous rows are read several panels at a time.
  constexpr index kPanels = 4;
  for (; col_stride == 1 && cols - col >= kPanels * kPanelWidth; col += kPanels * kPanelWidth) {
    for (index k = 0; k < depth; ++k) {
      const float* from = b + col + k * depth_stride;
      float* to = packed + k * kPanelWidth;
      for (index panel = 0; panel < kPanels; ++panel) {
        copy_row<Isa>(kPanelWidth, from + panel * kPanelWidth, 1, to, 1);
        to += kPanelWidth * depth;
      }
    }
    packed += kPanels * kPanelWidth * depth;
  }
  for (; col < cols; col += kPanelWidth) {
    const index width = std::min(kPanelWidth, cols - col);
    if (width == kPanelWidth && col_stride == 1) {
      for (index k = 0; k < depth; ++k) {
        copy_row<Isa>(kPanelWidth, b + col + k * depth_stride, 1, packed + k * kPanelWidth, 1);
      }
      packed += kPanelWidth * depth;
      continue;
    }
    transpose<Isa>(width, depth, {b + col * col_stride, col_stride, depth_stride}, 1.0F,
                   {packed, kPanelWidth});
    for (index k = 0; width < kPanelWidth && k < depth; ++k) {
      std::fill(packed + k * kPanelWidth + width, packed + (k + 1) * kPanelWidth, 0.0F);
    }
    packed += kPanelWidth * depth;
  }
}

/// Depth of the blocks of a product, rounded up to whole steps.
template <class Isa>
constexpr index block_depth(index depth) noexcept {
  return round_up(depth_block(depth), kDepthStep<Isa>);
}

template <class Isa>
index product_scratch(index depth) noexcept {
  constexpr index kTile =
      kTiles<Isa> ? kTileGroup * kTilePairs : Isa::kRows * Isa::kVectors * kWidth<Isa>;
  return kCopiedColumn<Isa> * std::min(round_up(depth, kDepthStep<Isa>), kDepthBlock) + kTile;
}

/// Stores a tile to C (rows × cols), or adds it to C. The tile was computed in a buffer because C
/// is strided or narrower than the tile.
template <class Isa>
void store_at_edge(const float* tile, index tile_cols, index rows, index cols, bool first,
                   Strided<float> c) noexcept {
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < cols; ++j) {
      float& target = c(r, j);
      target = first ? tile[r * tile_cols + j] : target + tile[r * tile_cols + j];
    }
  }
}

ATTN_INLINE void copy_part(index rows, index cols, Strided<const float> from,
                           Strided<float> to) noexcept {
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < cols; ++j) to(r, j) = from(r, j);
  }
}

/// The arguments that the blocks of a product need. `depth` and `a_row` are counted in elements,
/// which are floats or pairs.
template <class Isa>
struct BlockedProduct {
  index rows, cols, depth;
  const TileElement<Isa>* a;
  index a_row;
  const TileElement<Isa>* packed_b;
  const float* bias;
  Strided<float> c;
  bool add;
};

/// A block of C and its inputs.
struct ProductBlock {
  index row, rows;
  index col, cols;
  index k, depth;
};

/// C += bias for a block, or C = bias if `only` is true.
template <class Isa>
void apply_bias(const BlockedProduct<Isa>& p, const ProductBlock& block, bool only) noexcept {
  using F = Floats<Isa>;
  const index end = block.col + block.cols;
  for (index r = block.row; r < block.row + block.rows; ++r) {
    float* c = p.c.at(r);
    index j = block.col;
    if (p.c.col == 1 && !only) {
      for (; j + kWidth<Isa> <= end; j += kWidth<Isa>) {
        (F::load_unaligned(c + j) + F::load_unaligned(p.bias + j)).store_unaligned(c + j);
      }
    }
    for (; j < end; ++j) {
      const float bias = p.bias ? p.bias[j] : 0.0F;
      c[j * p.c.col] = only ? bias : c[j * p.c.col] + bias;
    }
  }
}

/// Computes C = A · B or C += A · B, tile by tile, for a block. Element (r, k) of A is
/// a[r·ARow + k·ADepth], as in product_tile().
template <class Isa, index ARow = kAnyStride, index ADepth = 1>
  requires(!kTiles<Isa>)
void multiply_block(const BlockedProduct<Isa>& p, const ProductBlock& block,
                    const TileElement<Isa>* a, index a_row, float* tile) noexcept {
  constexpr int kVectors = Isa::kVectors;
  constexpr index kTileCols = kVectors * kWidth<Isa>;
  constexpr TileColumns kColumns = kPackedColumns<Isa, kVectors>;
  const bool first = block.k == 0 && !p.add;
  const index end = block.col + block.cols;
  const index a_stride = ARow == kAnyStride ? a_row : ARow;
  for (index col = block.col; col < end; col += kTileCols) {
    const TileElement<Isa>* b[kVectors];
    // Vectors beyond the last column are never stored. They read the first panel, so that no read
    // leaves the memory of B.
    unroll<kVectors>([&](auto v) ATTN_INLINED {
      const index c = col + v * kWidth<Isa>;
      b[v] = packed_column<Isa>(p.packed_b, p.depth, c < p.cols ? c : 0) + block.k * kPanelWidth;
    });
    const bool whole = col + kTileCols <= end && p.c.col == 1;
    for (index r = 0; r < block.rows; r += Isa::kRows) {
      const index rows = std::min<index>(Isa::kRows, block.rows - r);
      float* c = p.c.at(block.row + r, col);
      // Fetches this tile of C while its sums are computed, because the outputs of training steps
      // are seldom in a second-level cache.
      for (index i = 0; whole && i < rows; ++i) {
        unroll<static_cast<int>(ceil_divide(kTileCols, kPanelWidth))>([&](auto line) ATTN_INLINED {
          __builtin_prefetch(c + i * p.c.row + line * kPanelWidth, 1);
        });
      }
      if (whole && !first) {
        product_rows<Isa, Isa::kRows, kVectors, TileFinish::kAdd, ARow, ADepth, kColumns>(
            rows, block.depth, a + r * a_stride, a_row, b, kPanelWidth, c, p.c.row);
        continue;
      }
      product_rows<Isa, Isa::kRows, kVectors, TileFinish::kStore, ARow, ADepth, kColumns>(
          rows, block.depth, a + r * a_stride, a_row, b, kPanelWidth, whole ? c : tile,
          whole ? p.c.row : kTileCols);
      if (!whole) {
        store_at_edge<Isa>(tile, kTileCols, rows, std::min(kTileCols, end - col), first,
                           {c, p.c.row, p.c.col});
      }
    }
  }
}

/// Computes the same products as the other multiply_block(), on tile hardware. A group of tiles is
/// summed in place in C if the group is whole and the columns of C are contiguous. A must have all
/// rows of its tiles, and zeros beyond the depth.
template <class Isa>
  requires kTiles<Isa>
void multiply_block(const BlockedProduct<Isa>& p, const ProductBlock& block,
                    const TileElement<Isa>* a, index a_row, float* tile) noexcept {
  const index height = tile_height(p.rows);
  const index tail = block.depth % kTileEdge;
  for_tile_groups(round_up(block.rows, height) / height, tiles_of(block.cols),
                  [&](index row, index col, auto m, auto n) ATTN_INLINED {
                    constexpr index kCols = n * kTileEdge;
                    const index first_row = block.row + row * height;
                    const index first_col = block.col + col * kTileEdge;
                    const index rows = std::min(m * height, block.row + block.rows - first_row);
                    const index cols = std::min(kCols, block.col + block.cols - first_col);
                    const index steps = block.depth / kTileEdge;
                    const TileMatrix b{
                        packed_column<Isa>(p.packed_b, p.depth, first_col) + block.k * kPanelWidth,
                        kPanelWidth, kTilePairs, kPanelWidth * p.depth};
                    // Pads the end of a panel with zeros to a whole tile, because the memory after
                    // the panel may contain infinities or NaN.
                    alignas(64) Bf16Pair last_b[n * kTilePairs];
                    for (index i = 0; tail != 0 && i < n; ++i) {
                      std::copy_n(b.data + i * b.next + steps * kTilePairs, tail * kPanelWidth,
                                  last_b + i * kTilePairs);
                      std::fill(last_b + i * kTilePairs + tail * kPanelWidth,
                                last_b + (i + 1) * kTilePairs, Bf16Pair{});
                    }
                    float* const c = p.c.at(first_row, first_col);
                    const bool whole = p.c.col == 1 && rows == m * height && cols == kCols;
                    const bool add = block.k != 0 || p.add;
                    if (add && !whole) copy_part(rows, cols, {c, p.c.row, p.c.col}, {tile, kCols});
                    const auto multiply = [&](auto adds) ATTN_INLINED {
                      tile_product<typename Isa::Tiles, m, n, adds>(
                          steps, {a + row * height * a_row, a_row, kTileEdge, height * a_row}, b,
                          tail != 0 ? last_b : nullptr, whole ? c : tile, whole ? p.c.row : kCols);
                    };
                    add ? multiply(std::true_type{}) : multiply(std::false_type{});
                    if (!whole) copy_part(rows, cols, {tile, kCols}, {c, p.c.row, p.c.col});
                  });
}

/// True if the rows of a block end within a tile. They are then copied, so that the whole tile can
/// be read.
template <class Isa>
constexpr bool has_open_tile(const BlockedProduct<Isa>& p, const ProductBlock& block) noexcept {
  return kTiles<Isa> && block.rows % tile_height(p.rows) != 0;
}

/// Computes C = A · B or C += A · B, block by block. If rows of A cannot be read in place,
/// copy_rows(block, copy, row) gathers the rows of a block and returns the address of the first.
/// AStrides are the strides of A or of this copy, as in multiply_block(). With tile hardware,
/// copy_rows also writes the rest of the last tile.
template <class Isa, index... AStrides, class CopyRows>
ATTN_INLINE void product_blocks(const BlockedProduct<Isa>& p, bool copies, CopyRows&& copy_rows,
                                float* scratch) noexcept {
  if (p.depth == 0) {
    if (!p.add) apply_bias<Isa>(p, {0, p.rows, 0, p.cols, 0, 0}, true);
    return;
  }
  const index depth = block_depth<Isa>(p.depth);
  auto* const copy = reinterpret_cast<TileElement<Isa>*>(scratch);
  float* const tile = scratch + kCopiedColumn<Isa> * depth;
  ProductBlock block;
  for (block.col = 0; block.col < p.cols; block.col += kColumnBlock) {
    block.cols = std::min(kColumnBlock, p.cols - block.col);
    for (block.k = 0; block.k < p.depth; block.k += depth) {
      block.depth = std::min(depth, p.depth - block.k);
      for (block.row = 0; block.row < p.rows; block.row += kCachedRows<Isa>) {
        block.rows = std::min(kCachedRows<Isa>, p.rows - block.row);
        if (copies || has_open_tile<Isa>(p, block)) {
          const TileElement<Isa>* const first = copy_rows(block, copy, depth);
          multiply_block<Isa, AStrides...>(p, block, first, depth, tile);
        } else {
          const TileElement<Isa>* const first = p.a + block.row * p.a_row + block.k;
          multiply_block<Isa, AStrides...>(p, block, first, p.a_row, tile);
        }
        if (p.bias && block.k + block.depth == p.depth) apply_bias<Isa>(p, block, false);
      }
    }
  }
}

template <class Isa>
void product(const ProductArgs& p, float* scratch) noexcept {
  const BlockedProduct<Isa> blocked{p.rows,     p.cols, p.depth, p.a.data, p.a.row,
                                    p.packed_b, p.bias, p.c,     p.add};
  constexpr index kColumn = kCopiedColumn<Isa>;
  if (p.a.row == 1 && p.rows >= kColumn) {
    // A is stored transposed, and its copy stays transposed, so whole vectors can be copied. A copy
    // that would reach beyond the last row begins at an earlier row.
    const auto copy_columns = [&](const ProductBlock& block, float* copy, index) {
      const index row = std::min(block.row, p.rows - kColumn);
      for (index k = 0; k < block.depth; ++k) {
        copy_row<Isa>(kColumn, p.a.at(row, block.k + k), 1, copy + k * kColumn, 1);
      }
      return copy + (block.row - row);
    };
    return product_blocks<Isa, 1, kColumn>(blocked, true, copy_columns, scratch);
  }
  // Rows of A are read in place if they do not conflict in the cache.
  const bool copies = p.a.col != 1 || p.a.row % kCacheAlias == 0;
  const auto copy_rows = [&](const ProductBlock& block, float* copy, index row) {
    const float* a = p.a.at(block.row, block.k);
    if (p.a.row == 1) {
      // transpose() may write beyond the end of the block's rows, but not beyond the tile.
      transpose<Isa>(block.depth, block.rows, {a, p.a.col}, 1.0F, {copy, row});
    } else {
      for (index r = 0; r < block.rows; ++r) {
        copy_row<Isa>(block.depth, a + r * p.a.row, p.a.col, copy + r * row, 1);
      }
    }
    return copy;
  };
  product_blocks<Isa>(blocked, copies, copy_rows, scratch);
}

}  // namespace attn::kernels
