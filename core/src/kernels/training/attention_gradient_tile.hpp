#pragma once

// The steps of attention's backward pass for one tile of scores (keys × queries): its five
// products, the weights and their gradients, and exclusion.

#include <algorithm>
#include <cstdint>

#include "kernels/training/attention_gradient_scratch.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// Copies rows, each padded with zeros to whole vectors. Returns true if all numbers are finite.
template <class Isa>
bool copy_padded(index rows, index cols, Strided<const float> from, float* to) noexcept {
  using F = Floats<Isa>;
  const index row = padded_row<Isa>(cols);
  for (index i = 0; i < rows; ++i) {
    copy_row<Isa>(cols, from.at(i), from.col, to + i * row, 1);
    if (cols < row) std::fill(to + i * row + cols, to + (i + 1) * row, 0.0F);
  }
  // Zero times a number that is not finite is NaN.
  F zeros(0.0F);
  for (index i = 0; i < rows * row; i += kWidth<Isa>) {
    zeros += F::load_unaligned(to + i) * F(0.0F);
  }
  return xsimd::reduce_add(zeros) == 0.0F;
}

// The products are most of the work, and each has several callers, so they are not inlined.

/// tile_ji = row_j · q_i for rows [0, keys) and the transposed queries of a block, starting at
/// `first`.
template <class Isa>
__attribute__((noinline)) void multiply_queries(index keys, index depth, const float* rows,
                                                index row, const float* queries, index first,
                                                index lanes, float* tile) noexcept {
  for (index j = 0; j < keys; j += Isa::kScoreRows) {
    for_columns<Isa, Isa::kScoreVectors>(
        lanes,
        [&](index col, auto vectors) ATTN_INLINED {
          const float* b[vectors];
          unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = queries + col + v * kWidth<Isa>; });
          product_rows<Isa, Isa::kScoreRows, vectors, TileFinish::kStore, kAnyStride, 1>(
              std::min<index>(Isa::kScoreRows, keys - j), depth, rows + j * row, row, b,
              kBlockQueries, tile + j * kBlockQueries + col, kBlockQueries);
        },
        first);
  }
}

/// sums_j += Σ_i tile_ji · row_i: sums along the queries of a tile.
template <class Isa>
__attribute__((noinline)) void sum_over_queries(index keys, index queries, const float* tile,
                                                const float* rows, index row,
                                                float* sums) noexcept {
  for_columns<Isa, Isa::kVectors>(row, [&](index col, auto vectors) ATTN_INLINED {
    const float* b[vectors];
    unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = rows + col + v * kWidth<Isa>; });
    for (index j = 0; j < keys; j += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kAdd, kBlockQueries, 1>(
          std::min<index>(Isa::kValueRows, keys - j), queries, tile + j * kBlockQueries, 0, b, row,
          sums + j * row + col, row);
    }
  });
}

/// sums_i += Σ_j tile_ji · row_j: sums along the keys of a tile.
template <class Isa>
__attribute__((noinline)) void sum_over_keys(index queries, index keys, const float* tile,
                                             const float* rows, index row, float* sums) noexcept {
  for_columns<Isa, Isa::kVectors>(row, [&](index col, auto vectors) ATTN_INLINED {
    const float* b[vectors];
    unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = rows + col + v * kWidth<Isa>; });
    for (index i = 0; i < queries; i += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kAdd, 1, kBlockQueries>(
          std::min<index>(Isa::kValueRows, queries - i), keys, tile + i, 0, b, row,
          sums + i * row + col, row);
    }
  });
}

/// Turns scores and dP into weights and dS.
template <class Isa, int Vectors>
ATTN_INLINE void differentiate_softmax(index keys, index col,
                                       const GradientScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  F shift[Vectors], delta[Vectors], rounder[Vectors], lowest[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    shift[v] = F::load_unaligned(scratch.log_sum_exp + col + v * kW);
    delta[v] = F::load_unaligned(scratch.delta + col + v * kW);
    rounder[v] = F(kExponentRounder);
    lowest[v] = F(-127.0F);
  });
  for (index j = 0; j < keys; ++j) {
    float* weights = scratch.weights + j * kBlockQueries + col;
    float* gradients = scratch.gradients + j * kBlockQueries + col;
    F p[Vectors], score[Vectors];
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      score[v] = F::load_unaligned(weights + v * kW);
      p[v] = score[v] - shift[v];
    });
    exp2_shifted<Isa, Vectors>(p, rounder, lowest);
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      const auto excluded = score[v] == F(kMinusInfinity);
      const F slope = F::load_unaligned(gradients + v * kW) - delta[v];
      xsimd::select(excluded, F(0.0F), p[v]).store_unaligned(weights + v * kW);
      xsimd::select(excluded, F(0.0F), p[v] * slope).store_unaligned(gradients + v * kW);
    });
  }
}

/// Multiplies a tile by another tile, element by element.
template <class Isa>
void multiply_tile(index keys, index lanes, const float* factors, float* tile) noexcept {
  using F = Floats<Isa>;
  for (index j = 0; j < keys; ++j) {
    for (index i = j * kBlockQueries; i < j * kBlockQueries + lanes; i += kWidth<Isa>) {
      (F::load_unaligned(tile + i) * F::load_unaligned(factors + i)).store_unaligned(tile + i);
    }
  }
}

/// Transposes a tile (keys × queries) to rows (queries × keys), calls `body(r, row)` for each row,
/// and transposes the rows back, multiplied by `factor`.
template <class Isa, class Body>
ATTN_INLINE void transform_rows(index keys, index count, float* tile, float factor,
                                const GradientScratch<Isa>& scratch, Body&& body) noexcept {
  transpose<Isa>(keys, count, {tile, kBlockQueries}, 1.0F, {scratch.rows, kGradientRow});
  for (index r = 0; r < count; ++r) body(r, scratch.rows + r * kGradientRow);
  transpose<Isa>(count, keys, {scratch.rows, kGradientRow}, factor, {tile, kBlockQueries});
}

}  // namespace attn::kernels
