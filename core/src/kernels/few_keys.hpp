#pragma once

// Attention over few keys. All keys form one tile, so nothing is carried from tile to tile, and
// values and outputs are accessed in place. The overhead of a call is therefore small. As in
// attention.hpp, a tile is (keys × queries); here it has a single vector of queries.

#include <algorithm>
#include <cmath>

#include "kernels/attention_block.hpp"
#include "kernels/tiles/floats.hpp"

namespace attn::kernels {

/// Number of keys whose scores are computed together.
inline constexpr int kFewKeyRows = 8;

/// The scratch memory of a vector of queries. It needs at most as many floats as attention_scratch
/// returns.
template <class Isa>
struct FewKeysScratch {
  FewKeysScratch(const AttentionHead& head, float* memory) noexcept
      : queries(memory),
        tile(queries + head.head_dim * kWidth<Isa>),
        max(tile + kFewKeys * kWidth<Isa>),
        sum(max + kWidth<Isa>),
        factor(sum + kWidth<Isa>),
        requested(factor + kWidth<Isa>),
        row(requested + kFewKeys * kWidth<Isa>) {}

  float* queries;    ///< head_dim × vector, scaled
  float* tile;       ///< kFewKeys × vector: scores in units of ln 2, then their exponentials
  float* max;        ///< for each query, an integer near the largest score
  float* sum;        ///< for each query, the sum of the exponentials
  float* factor;     ///< for each query, the reciprocal of `sum`
  float* requested;  ///< kFewKeys × vector: requested scores
  float* row;        ///< kFewKeys, rounded up to whole vectors
};

/// Sets scores outside the key ranges of queries [first, first + rows) to −∞. Returns true if there
/// are any such scores.
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

/// Turns scratch.tile into exponentials. Returns one bit for each query. The bit is set if the
/// query's largest score is smaller than kLargestExponent in absolute value and the sum of its
/// exponentials is not NaN.
template <class Isa>
ATTN_INLINE std::uint64_t softmax_few_keys(index keys,
                                           const FewKeysScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const auto scores = [&](index j) ATTN_INLINED { return scratch.tile + j * kW; };
  F max(kMinusInfinity);
  for (index j = 0; j < keys; ++j) max = xsimd::max(F::load_unaligned(scores(j)), max);
  const F rounder(kRounder);
  max = (max + rounder) - rounder;
  F sum(0.0F);
  const auto exponentiate = [&](index j, auto n) ATTN_INLINED {
    F e[n], rounders[n], lowest[n];
    unroll<n>([&](auto i) ATTN_INLINED {
      e[i] = F::load_unaligned(scores(j + i));
      rounders[i] = F(kExponentRounder) - max;
      lowest[i] = max - F(127.0F);
    });
    exp2_shifted<Isa, n>(e, rounders, lowest);
    unroll<n>([&](auto i) ATTN_INLINED {
      e[i].store_unaligned(scores(j + i));
      sum += e[i];
    });
  };
  index j = 0;
  for (; j + 4 <= keys; j += 4) exponentiate(j, std::integral_constant<int, 4>{});
  for (; j < keys; ++j) exponentiate(j, std::integral_constant<int, 1>{});
  max.store_unaligned(scratch.max);
  sum.store_unaligned(scratch.sum);
  divide<Isa>(F(1.0F), sum).store_unaligned(scratch.factor);
  return ((xsimd::abs(max) < F(kLargestExponent)) & (sum == sum)).mask();
}

/// output = exponentialsᵀ · V · factor for the queries starting at `first`. If columns remain, the
/// last vector overlaps finished columns and rewrites them with identical values.
template <class Isa>
void write_few_keys(const AttentionHead& head, index first, index rows,
                    const FewKeysScratch<Isa>& scratch) noexcept {
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = Isa::kVectors;
  const auto write = [&](index col, auto vectors) ATTN_INLINED {
    const float* b[vectors];
    unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = head.value.data + col + v * kW; });
    for (index r = 0; r < rows; r += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kScale, 1, kW>(
          std::min<index>(Isa::kValueRows, rows - r), head.num_keys, scratch.tile + r, 0, b,
          head.value.row, head.output.at(first + r) + col, head.output.row, scratch.factor + r);
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

/// tile_ji = factor · q_i·k_j for the queries starting at `first`.
template <class Isa>
void score_few_keys(const AttentionHead& head, index first, index rows, float factor,
                    float* queries, float* tile) noexcept {
  constexpr index kW = kWidth<Isa>;
  transpose<Isa>(rows, head.head_dim, head.query.rows_from(first), factor, {queries, kW});
  const float* const columns[1] = {queries};
  for (index j = 0; j < head.num_keys; j += kFewKeyRows) {
    product_rows<Isa, kFewKeyRows, 1, TileFinish::kStore, kAnyStride, 1>(
        std::min<index>(kFewKeyRows, head.num_keys - j), head.head_dim, head.key.at(j),
        head.key.row, columns, kW, tile + j * kW, kW);
  }
}

/// Writes one stage of the scores of `rows` queries, starting with `first`.
template <class Isa>
void write_few_scores(const AttentionHead& head, index first, index rows, const ScoreOutput& out,
                      const FewKeysScratch<Isa>& scratch) noexcept {
  constexpr index kW = kWidth<Isa>;
  const index keys = head.num_keys;
  if (out.stage == ScoreStage::kWeights) {
    // The scores contain no NaN, and these kernels apply no dropout.
    for (index r = 0; r < rows; ++r) {
      float* weights = out.data + (first + r) * out.row;
      for (index j = 0; j < keys; ++j) {
        weights[j * out.col] = scratch.tile[j * kW + r] * scratch.factor[r];
      }
    }
    return;
  }
  score_few_keys<Isa>(head, first, rows, head.scale, scratch.queries, scratch.requested);
  for (index r = 0; r < rows; ++r) {
    for (index j = 0; j < keys; ++j) scratch.row[j] = scratch.requested[j * kW + r];
    store_scores<Isa>(head, out, first + r, 0, keys, nullptr, scratch.row);
  }
}

/// Recomputes queries [first, first + rows) with the block kernel, after attend_few_keys() found
/// scores or values that it cannot handle.
template <class Isa>
void recompute_few_keys(const AttentionHead& head, index first, index rows,
                        const ScoreOutput* outputs, int num_outputs, float* memory) noexcept {
  using Tiles = FloatTiles<Isa>;
  using Scratch = typename Tiles::Scratch;
  const Scratch scratch(head, memory, memory + Scratch::shared_size(head));
  bool selected[Tiles::kQueries];
  std::fill_n(selected, rows, true);
  const QueryBlock block = recompute_queries<Tiles>(head, first, rows, selected, scratch);
  finish_scores<Tiles>(head, block, outputs, num_outputs, scratch);
}

template <class Isa>
void attend_few_keys(const AttentionHead& head, const ScoreOutput* outputs, int num_outputs,
                     float* memory) noexcept {
  const FewKeysScratch<Isa> scratch(head, memory);
  for (index first = 0; first < head.num_queries; first += kWidth<Isa>) {
    const index rows = std::min(kWidth<Isa>, head.num_queries - first);
    score_few_keys<Isa>(head, first, rows, head.scale * kLog2E, scratch.queries, scratch.tile);
    const bool excludes = exclude_few_keys<Isa>(head, first, rows, scratch.tile);
    const std::uint64_t good = softmax_few_keys<Isa>(head.num_keys, scratch);
    write_few_keys<Isa>(head, first, rows, scratch);
    const std::uint64_t all = (std::uint64_t{1} << rows) - 1;
    bool done = (good & all) == all;
    for (index r = 0; excludes && done && r < rows; ++r) {
      done = is_finite<Isa>(head.output.at(first + r), head.value_dim);
    }
    if (!done) {
      recompute_few_keys<Isa>(head, first, rows, outputs, num_outputs, memory);
      continue;
    }
    for (index r = 0; head.log_sum_exp && r < rows; ++r) {
      head.log_sum_exp[(first + r) * head.log_sum_exp_row] =
          compute_log_sum_exp<Isa>(head, scratch.max[r], scratch.sum[r]);
    }
    for (int i = 0; i < num_outputs; ++i) {
      write_few_scores<Isa>(head, first, rows, outputs[i], scratch);
    }
  }
}

}  // namespace attn::kernels
