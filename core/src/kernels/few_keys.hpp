#pragma once

// Attention over a few keys: all of them are one tile, so that nothing is carried from tile to
// tile, and values are read and outputs written where they lie. A call costs little more than it
// computes. As in attention.hpp a tile lies (keys × queries), here of one vector of queries.

#include <algorithm>
#include <cmath>

#include "kernels/attention.hpp"

namespace attn::kernels {

/// Keys whose scores are formed together.
inline constexpr int kFewKeyRows = 8;

/// The scratch memory of a vector of queries: no more than attention_scratch.
template <class Isa>
struct FewKeysScratch {
  FewKeysScratch(const AttentionHead& head, float* memory) noexcept
      : queries(memory),
        tile(queries + head.head_dim * kWidth<Isa>),
        max(tile + kFewKeys * kWidth<Isa>),
        sum(max + kWidth<Isa>),
        row_memory(sum + kWidth<Isa>) {}

  float* queries;     ///< head_dim × vector, scaled, in units of ln 2
  float* tile;        ///< kFewKeys × vector: scores, then weights
  float* max;         ///< per query: an integer near the largest score
  float* sum;         ///< per query: of the exponentials
  float* row_memory;  ///< of a RowScratch
};

/// Scores outside the key ranges of queries first … become −∞. Returns whether there are any.
template <class Isa>
ATTN_INLINE bool exclude_few_keys(const AttentionHead& head, index first, index rows,
                                  float* tile) noexcept {
  const std::int32_t* begin = head.key_begin + first;
  const std::int32_t* end = head.key_end + first;
  bool any = false;
  for (index r = 0; r < rows; ++r) any |= begin[r] > 0 || end[r] < head.num_keys;
  if (!any) return false;
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < head.num_keys; ++j) {
      if (j < begin[r] || j >= end[r]) tile[j * kWidth<Isa> + r] = kMinusInfinity;
    }
  }
  return true;
}

/// Turns a tile of scores into weights. Returns a bit per query: whether its largest score can be
/// taken off as an exponent, and its weights are numbers.
template <class Isa>
ATTN_INLINE std::uint64_t soften_few_keys(index keys, const FewKeysScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const auto scores = [&](index j) __attribute__((always_inline)) { return scratch.tile + j * kW; };
  F max(kMinusInfinity);
  for (index j = 0; j < keys; ++j) max = xsimd::max(F::load_unaligned(scores(j)), max);
  const F rounder(kRounder);
  max = (max + rounder) - rounder;
  F sum(0.0F);
  const auto exponentials = [&](index j, auto n) __attribute__((always_inline)) {
    F e[n], rounders[n], lowest[n];
    unroll<n>([&](auto i) __attribute__((always_inline)) {
      e[i] = F::load_unaligned(scores(j + i));
      rounders[i] = F(kExponentRounder) - max;
      lowest[i] = max - F(127.0F);
    });
    exp2_shifted<Isa, n>(e, rounders, lowest);
    unroll<n>([&](auto i) __attribute__((always_inline)) {
      e[i].store_unaligned(scores(j + i));
      sum += e[i];
    });
  };
  index j = 0;
  for (; j + 4 <= keys; j += 4) exponentials(j, std::integral_constant<int, 4>{});
  for (; j < keys; ++j) exponentials(j, std::integral_constant<int, 1>{});
  const F factor = F(1.0F) / sum;
  for (j = 0; j < keys; ++j) (F::load_unaligned(scores(j)) * factor).store_unaligned(scores(j));
  max.store_unaligned(scratch.max);
  sum.store_unaligned(scratch.sum);
  return ((xsimd::abs(max) < F(kLargestExponent)) & (sum == sum)).mask();
}

/// output = weightsᵀ · V for a vector of queries. Where columns are left over, the last vector of
/// them includes some that are there already, and gives them the same bits.
template <class Isa>
ATTN_INLINE void write_few_keys(const AttentionHead& head, index first, index rows,
                                const float* weights) noexcept {
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = Isa::kVectors;
  const auto write = [&](index col, auto vectors) __attribute__((always_inline)) {
    const float* b[vectors];
    unroll<vectors>([&](auto v)
                        __attribute__((always_inline)) { b[v] = head.value + col + v * kW; });
    for (index r = 0; r < rows; r += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kStore, 1, kW>(
          std::min<index>(Isa::kValueRows, rows - r), head.num_keys, weights + r, 0, b,
          head.value_row, head.output + (first + r) * head.output_row + col, head.output_row);
    }
  };
  index col = 0;
  for (; col + kVectors * kW <= head.value_dim; col += kVectors * kW) {
    write(col, std::integral_constant<int, kVectors>{});
  }
  for (; col < head.value_dim; col += kW) {
    write(std::min(col, head.value_dim - kW), std::integral_constant<int, 1>{});
  }
}

template <class Isa>
ATTN_INLINE bool is_finite_output(const AttentionHead& head, index row) noexcept {
  // x − x is 0 for finite x and NaN otherwise.
  const float* output = head.output + row * head.output_row;
  float check = 0.0F;
  for (index c = 0; c < head.value_dim; ++c) check += output[c] - output[c];
  return check == 0.0F;
}

template <class Isa>
void attend_few_keys(const AttentionHead& head, const ScoreOutput* weights,
                     float* memory) noexcept {
  constexpr index kW = kWidth<Isa>;
  const FewKeysScratch<Isa> scratch(head, memory);
  const index keys = head.num_keys;
  for (index first = 0; first < head.num_queries; first += kW) {
    const index rows = std::min(kW, head.num_queries - first);
    transpose<Isa>(rows, head.head_dim, head.query + first * head.query_row, head.query_row,
                   head.query_col, head.scale * kLog2E, scratch.queries, kW);
    const float* const queries[1] = {scratch.queries};
    for (index j = 0; j < keys; j += kFewKeyRows) {
      product_rows<Isa, kFewKeyRows, 1, TileFinish::kStore, kAnyStride, 1>(
          std::min<index>(kFewKeyRows, keys - j), head.head_dim, head.key + j * head.key_row,
          head.key_row, queries, kW, scratch.tile + j * kW, kW);
    }
    const bool excludes = exclude_few_keys<Isa>(head, first, rows, scratch.tile);
    const std::uint64_t good = soften_few_keys<Isa>(keys, scratch);
    write_few_keys<Isa>(head, first, rows, scratch.tile);
    const std::uint64_t all = (std::uint64_t{1} << rows) - 1;
    if ((good & all) == all && !excludes && !weights && !head.log_sum_exp) continue;
    for (index r = 0; r < rows; ++r) {
      const index row = first + r;
      // What an excluded value of infinity or NaN has spoilt is done again without it.
      if ((good >> r & 1) == 0 || (excludes && !is_finite_output<Isa>(head, row))) {
        attend_row<Isa>(head, row, weights, weights ? 1 : 0, scratch.row_memory);
        continue;
      }
      if (head.log_sum_exp) {
        head.log_sum_exp[row * head.log_sum_exp_row] =
            log_sum_exp<Isa>(head, scratch.max[r], scratch.sum[r]);
      }
      for (index j = 0; weights && j < keys; ++j) {
        weights->data[row * weights->row + j * weights->col] = scratch.tile[j * kW + r];
      }
    }
  }
}

}  // namespace attn::kernels
