#pragma once

#include <algorithm>

#include "kernels/product_tile.hpp"

namespace attn::kernels {

/// Depth summed before C is written back: a tile's panel of B then stays in the first-level cache.
inline constexpr index kDepthBlock = 256;

/// Rows of A packed at a time.
template <class Isa>
inline constexpr index kProductRows = Isa::kRows * round_up(48, Isa::kRows) / Isa::kRows;

template <class Isa>
void pack(index cols, index depth, const float* b, index col_stride, index depth_stride,
          float* packed) noexcept {
  for (index col = 0; col < cols; col += kPanelWidth) {
    const index width = std::min(kPanelWidth, cols - col);
    const float* source = b + col * col_stride;
    for (index k = 0; k < depth; ++k) {
      for (index j = 0; j < width; ++j) packed[j] = source[j * col_stride + k * depth_stride];
      for (index j = width; j < kPanelWidth; ++j) packed[j] = 0.0F;
      packed += kPanelWidth;
    }
  }
}

template <class Isa>
index product_scratch(index depth) noexcept {
  constexpr index kTile = Isa::kRows * Isa::kVectors * kWidth<Isa>;
  return kProductRows<Isa> * std::min(depth, kDepthBlock) + kTile;
}

/// One tile of C, over one block of the depth, where C may be narrower than the tile or strided:
/// computed beside C and copied.
template <class Isa, int Vectors>
void product_at_edge(const ProductArgs& p, bool first, index row, index rows, index col,
                     index depth, const float* a, const float* const (&b)[Vectors],
                     float* tile) noexcept {
  constexpr index kTileCols = Vectors * kWidth<Isa>;
  const index cols = std::min(kTileCols, p.cols - col);
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < kTileCols; ++j) {
      float start = 0.0F;
      if (j < cols) {
        start = first ? (p.bias ? p.bias[col + j] : 0.0F)
                      : p.c[(row + r) * p.c_row + (col + j) * p.c_col];
      }
      tile[r * kTileCols + j] = start;
    }
  }
  product_rows<Isa, Vectors, TileStart::kLoad, 1, Isa::kRows>(rows, depth, a, b, kPanelWidth, tile,
                                                              kTileCols);
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < cols; ++j) {
      p.c[(row + r) * p.c_row + (col + j) * p.c_col] = tile[r * kTileCols + j];
    }
  }
}

template <class Isa>
void product(const ProductArgs& p, float* scratch) noexcept {
  constexpr int kVectors = Isa::kVectors;
  constexpr index kTileCols = kVectors * kWidth<Isa>;
  float* const packed_a = scratch;
  float* const tile = scratch + kProductRows<Isa> * std::min(p.depth, kDepthBlock);
  if (p.depth == 0) {
    for (index r = 0; r < p.rows; ++r) {
      for (index j = 0; j < p.cols; ++j) {
        p.c[r * p.c_row + j * p.c_col] = p.bias ? p.bias[j] : 0.0F;
      }
    }
    return;
  }
  for (index row0 = 0; row0 < p.rows; row0 += kProductRows<Isa>) {
    const index block_rows = std::min(kProductRows<Isa>, p.rows - row0);
    for (index k0 = 0; k0 < p.depth; k0 += kDepthBlock) {
      const index depth = std::min(kDepthBlock, p.depth - k0);
      const bool first = k0 == 0;
      for (index r = 0; r < block_rows; r += Isa::kRows) {
        pack_rows<Isa>(std::min<index>(Isa::kRows, block_rows - r), depth,
                       p.a + (row0 + r) * p.a_row + k0 * p.a_col, p.a_row, p.a_col, 1.0F,
                       packed_a + r * depth);
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
          if (!whole || (first && p.bias)) {
            product_at_edge<Isa, kVectors>(p, first, row0 + r, rows, col, depth, a, b, tile);
          } else if (first) {
            product_rows<Isa, kVectors, TileStart::kZero, 1, Isa::kRows>(rows, depth, a, b,
                                                                         kPanelWidth, c, p.c_row);
          } else {
            product_rows<Isa, kVectors, TileStart::kLoad, 1, Isa::kRows>(rows, depth, a, b,
                                                                         kPanelWidth, c, p.c_row);
          }
        }
      }
    }
  }
}

}  // namespace attn::kernels
