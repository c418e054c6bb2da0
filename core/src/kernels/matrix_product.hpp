#pragma once

#include <algorithm>

#include "kernels/product_tile.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// Depth summed before C is written back: a tile's panel of B then stays in the first-level cache.
inline constexpr index kDepthBlock = 128;

/// Rows of A packed at a time: with the depth block, what stays in the second-level cache.
template <class Isa>
inline constexpr index kProductRows = 196 / Isa::kRows * Isa::kRows;

template <class Isa>
void pack(index cols, index depth, const float* b, index col_stride, index depth_stride,
          float* packed) noexcept {
  for (index col = 0; col < cols; col += kPanelWidth) {
    const index width = std::min(kPanelWidth, cols - col);
    transpose<Isa>(width, depth, b + col * col_stride, col_stride, depth_stride, 1.0F, packed,
                   kPanelWidth);
    for (index k = 0; width < kPanelWidth && k < depth; ++k) {
      std::fill(packed + k * kPanelWidth + width, packed + (k + 1) * kPanelWidth, 0.0F);
    }
    packed += kPanelWidth * depth;
  }
}

template <class Isa>
index product_scratch(index depth) noexcept {
  constexpr index kTile = Isa::kRows * Isa::kVectors * kWidth<Isa>;
  return kProductRows<Isa> * std::min(depth, kDepthBlock) + kPanelWidth + kTile;
}

/// C (rows × cols) = or += a tile that was computed beside it, because C is narrower or strided.
template <class Isa>
void store_at_edge(const float* tile, index tile_cols, index rows, index cols, bool first, float* c,
                   index c_row, index c_col) noexcept {
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < cols; ++j) {
      float& target = c[r * c_row + j * c_col];
      target = first ? tile[r * tile_cols + j] : target + tile[r * tile_cols + j];
    }
  }
}

/// C += bias for a block of rows, or C = bias.
template <class Isa>
void apply_bias(const ProductArgs& p, index row0, index rows, bool only) noexcept {
  using F = Floats<Isa>;
  for (index r = row0; r < row0 + rows; ++r) {
    float* c = p.c + r * p.c_row;
    index j = 0;
    if (p.c_col == 1 && !only) {
      for (; j + kWidth<Isa> <= p.cols; j += kWidth<Isa>) {
        (F::load_unaligned(c + j) + F::load_unaligned(p.bias + j)).store_unaligned(c + j);
      }
    }
    for (; j < p.cols; ++j) {
      const float bias = p.bias ? p.bias[j] : 0.0F;
      c[j * p.c_col] = only ? bias : c[j * p.c_col] + bias;
    }
  }
}

template <class Isa>
void product(const ProductArgs& p, float* scratch) noexcept {
  constexpr int kVectors = Isa::kVectors;
  constexpr index kTileCols = kVectors * kWidth<Isa>;
  float* const packed_a = scratch;
  float* const tile = scratch + kProductRows<Isa> * std::min(p.depth, kDepthBlock) + kPanelWidth;
  if (p.depth == 0) return apply_bias<Isa>(p, 0, p.rows, true);
  for (index row0 = 0; row0 < p.rows; row0 += kProductRows<Isa>) {
    const index block_rows = std::min(kProductRows<Isa>, p.rows - row0);
    for (index k0 = 0; k0 < p.depth; k0 += kDepthBlock) {
      const index depth = std::min(kDepthBlock, p.depth - k0);
      const bool first = k0 == 0;
      // As [depth][kRows] for each of the micro-kernel's tiles.
      for (index r = 0; r < block_rows; r += Isa::kRows) {
        transpose<Isa>(std::min<index>(Isa::kRows, block_rows - r), depth,
                       p.a + (row0 + r) * p.a_row + k0 * p.a_col, p.a_row, p.a_col, 1.0F,
                       packed_a + r * depth, Isa::kRows);
      }
      for (index col = 0; col < p.cols; col += kTileCols) {
        const float* b[kVectors];
        // A vector wholly beyond the last panel is never stored; let it read the first one instead.
        unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
          const index c = col + v * kWidth<Isa>;
          b[v] = packed_column<Isa>(p.packed_b, p.depth, c < p.cols ? c : 0) + k0 * kPanelWidth;
        });
        const bool whole = col + kTileCols <= p.cols && p.c_col == 1;
        for (index r = 0; r < block_rows; r += Isa::kRows) {
          const index rows = std::min<index>(Isa::kRows, block_rows - r);
          const float* a = packed_a + r * depth;
          float* c = p.c + (row0 + r) * p.c_row + col * p.c_col;
          if (whole && !first) {
            product_rows<Isa, Isa::kRows, kVectors, TileFinish::kAdd, 1, Isa::kRows>(
                rows, depth, a, 0, b, kPanelWidth, c, p.c_row);
            continue;
          }
          product_rows<Isa, Isa::kRows, kVectors, TileFinish::kStore, 1, Isa::kRows>(
              rows, depth, a, 0, b, kPanelWidth, whole ? c : tile, whole ? p.c_row : kTileCols);
          if (!whole) {
            store_at_edge<Isa>(tile, kTileCols, rows, std::min(kTileCols, p.cols - col), first, c,
                               p.c_row, p.c_col);
          }
        }
      }
    }
    if (p.bias) apply_bias<Isa>(p, row0, block_rows, false);
  }
}

}  // namespace attn::kernels
