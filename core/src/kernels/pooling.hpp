#pragma once

// Attention pooling with a scoring function that is not an inner product. The function is applied
// column by column to every pair of a query and a key. Keys are packed in panels, so a vector
// contains one column of several neighbouring keys. No tensor of shape (queries, keys, columns) is
// ever stored.

#include <algorithm>
#include <cstdint>

#include "kernels/pooling_args.hpp"
#include "kernels/product_tile.hpp"
#include "kernels/softmax.hpp"
#include "kernels/tanh.hpp"

namespace attn::kernels {

/// Adds the term that one column of a query and a key contributes to the pair's sum. For kernels
/// that depend on the distance, the term is the squared difference.
template <class Isa, PairScore Score>
ATTN_INLINE Floats<Isa> add_column(Floats<Isa> query, Floats<Isa> key, float weight,
                                   Floats<Isa> sum) noexcept {
  using F = Floats<Isa>;
  if constexpr (Score == PairScore::kAdditive) {
    return Isa::madd(F(weight), tanh<Isa>(query + key), sum);
  } else if constexpr (Score == PairScore::kDot) {
    return Isa::madd(query, key, sum);
  } else {
    const F difference = query - key;
    return Isa::madd(difference, difference, sum);
  }
}

/// Pairs query `row` with each of the keys [key0, key0 + keys), and computes the sum over columns
/// for each pair. The number of keys is rounded up to whole panels.
template <class Isa, PairScore Score>
ATTN_INLINE void pair_sums(const PoolingArgs& p, index row, index key0, index keys,
                           float* sums) noexcept {
  using F = Floats<Isa>;
  // tanh takes many operations, so processors overlap the operations of several columns, and one
  // vector is enough.
  constexpr int kVectors =
      Score == PairScore::kAdditive ? 1 : static_cast<int>(kPanelWidth / kWidth<Isa>);
  const float* query = p.query.at(row);
  for (index j = 0; j < round_up(keys, kPanelWidth); j += kVectors * kWidth<Isa>) {
    const float* panel = packed_column<Isa>(p.packed_keys, p.depth, key0 + j);
    F sum[kVectors];
    unroll<kVectors>([&](auto v) ATTN_INLINED { sum[v] = F(0.0F); });
    for (index d = 0; d < p.depth; ++d) {
      const F q(query[d * p.query.col]);
      const float weight = Score == PairScore::kAdditive ? p.column_weights[d] : 0.0F;
      unroll<kVectors>([&](auto v) ATTN_INLINED {
        const F k = F::load_unaligned(panel + d * kPanelWidth + v * kWidth<Isa>);
        sum[v] = add_column<Isa, Score>(q, k, weight, sum[v]);
      });
    }
    unroll<kVectors>([&](auto v)
                         ATTN_INLINED { sum[v].store_unaligned(sums + j + v * kWidth<Isa>); });
  }
}

/// Computes the scores of query `row` and keys [key0, key0 + keys). The number of keys is rounded
/// up to whole panels.
template <class Isa>
ATTN_INLINE void pair_scores(const PoolingArgs& p, index row, index key0, index keys,
                             float* scores) noexcept {
  using F = Floats<Isa>;
  const bool has_edge = p.score == PairScore::kBoxcar || p.score == PairScore::kEpanechnikov;
  if (p.score == PairScore::kConstant) {
    std::fill_n(scores, keys, 1.0F);
    return;
  }
  if (p.score == PairScore::kAdditive) {
    return pair_sums<Isa, PairScore::kAdditive>(p, row, key0, keys, scores);
  }
  if (p.score == PairScore::kDot) {
    pair_sums<Isa, PairScore::kDot>(p, row, key0, keys, scores);
  } else {
    pair_sums<Isa, PairScore::kGaussian>(p, row, key0, keys, scores);
  }
  const F factor(p.factor);
  for (index j = 0; j < keys; j += kWidth<Isa>) {
    F score = F::load_unaligned(scores + j);
    if (has_edge) {
      // The distance is measured in units of the kernel's width. NaN stays NaN.
      const F distance = xsimd::sqrt(score) * factor;
      const F inside = p.score == PairScore::kBoxcar ? F(1.0F) : F(1.0F) - distance;
      score = xsimd::select(distance < F(1.0F), inside,
                            xsimd::select(distance == distance, F(0.0F), distance));
    } else {
      score *= factor;
    }
    score.store_unaligned(scores + j);
  }
}

/// Loads a vector from a row of values: columns [col, col + width), with zeros after the last
/// column. `Whole` asserts that all these columns exist and are contiguous.
template <class Isa, bool Whole>
ATTN_INLINE Floats<Isa> load_values(const PoolingArgs& p, index key, index col) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const float* source = p.value.at(key) + col * (Whole ? 1 : p.value.col);
  if constexpr (Whole) {
    return F::load_unaligned(source);
  } else {
    float columns[kW] = {};
    const index count = std::min(kW, p.value_dim - col);
    for (index c = 0; c < count; ++c) columns[c] = source[c * p.value.col];
    return F::load_unaligned(columns);
  }
}

/// Computes columns [col, col + Vectors · width) of add_values.
template <class Isa, int Vectors, bool Whole>
ATTN_INLINE void add_value_columns(const PoolingArgs& p, const std::int32_t* keys,
                                   const float* weights, index count, float old_factor, index col,
                                   float* sums) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  F sum[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    sum[v] = F::load_unaligned(sums + col + v * kW) * F(old_factor);
  });
  for (index n = 0; n < count; ++n) {
    const F weight(weights[n]);
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      sum[v] = Isa::madd(weight, load_values<Isa, Whole>(p, keys[n], col + v * kW), sum[v]);
    });
  }
  unroll<Vectors>([&](auto v) ATTN_INLINED { sum[v].store_unaligned(sums + col + v * kW); });
}

/// sums = old_factor · sums + Σ_n weights[n] · value of keys[n].
template <class Isa>
ATTN_INLINE void add_values(const PoolingArgs& p, const std::int32_t* keys, const float* weights,
                            index count, float old_factor, float* sums) noexcept {
  constexpr index kW = kWidth<Isa>;
  // Several independent sums hide the latency of each addition.
  constexpr int kSums = 4;
  index col = 0;
  if (p.value.col == 1) {
    for (; col + kSums * kW <= p.value_dim; col += kSums * kW) {
      add_value_columns<Isa, kSums, true>(p, keys, weights, count, old_factor, col, sums);
    }
    for (; col + kW <= p.value_dim; col += kW) {
      add_value_columns<Isa, 1, true>(p, keys, weights, count, old_factor, col, sums);
    }
  }
  for (; col < p.value_dim; col += kW) {
    add_value_columns<Isa, 1, false>(p, keys, weights, count, old_factor, col, sums);
  }
}

/// The keys in a block that a query may attend to, and the scores of these keys, stored without
/// gaps. Keys beyond a kernel's edge are left out.
template <class Isa>
struct AttendedKeys {
  std::int32_t key[kRowBlockKeys];
  float score[kRowBlockKeys + kPanelWidth];
  index count;

  void collect(const PoolingArgs& p, index row, index key0, index keys) noexcept {
    float all[kRowBlockKeys + kPanelWidth];
    pair_scores<Isa>(p, row, key0, keys, all);
    const std::uint8_t* mask = p.mask ? p.mask.at(row) : nullptr;
    const bool zero_is_outside =
        p.score == PairScore::kBoxcar || p.score == PairScore::kEpanechnikov;
    count = 0;
    for (index j = 0; j < keys; ++j) {
      if (mask && mask[(key0 + j) * p.mask.col] == 0) continue;
      if (p.scores) p.scores(row, key0 + j) = all[j];
      if (zero_is_outside && all[j] == 0.0F) continue;
      key[count] = static_cast<std::int32_t>(key0 + j);
      score[count++] = all[j];
    }
  }
};

/// Selects the key with the highest score, or the first such key if several have it. If any score
/// is NaN, selects the first key whose score is NaN.
template <class Isa>
void pool_hard(const PoolingArgs& p, index row) noexcept {
  AttendedKeys<Isa> block;
  index best = -1;
  float best_score = 0.0F;
  for (index key0 = 0; key0 < p.key_end[row]; key0 += kRowBlockKeys) {
    block.collect(p, row, key0, std::min<index>(kRowBlockKeys, p.key_end[row] - key0));
    for (index n = 0; n < block.count; ++n) {
      const float score = block.score[n];
      const bool first_nan = score != score && best_score == best_score;
      if (best < 0 || score > best_score || first_nan) {
        best = block.key[n];
        best_score = score;
      }
    }
  }
  const bool is_nan = best_score != best_score;
  float* output = p.output.at(row);
  for (index c = 0; c < p.value_dim; ++c) {
    float value = best < 0 ? 0.0F : p.value(best, c);
    if (is_nan) value = best_score;
    output[c * p.output.col] = value;
  }
  if (p.weights && best >= 0) {
    p.weights(row, best) = is_nan ? best_score : 1.0F;
  }
}

template <class Isa>
void pool_soft(const PoolingArgs& p, index row, float* sums) noexcept {
  AttendedKeys<Isa> block;
  const bool softmax = p.score == PairScore::kAdditive || p.score == PairScore::kDot ||
                       p.score == PairScore::kGaussian;
  float row_max = kMinusInfinity;
  float row_sum = 0.0F;
  std::fill_n(sums, round_up(p.value_dim, kPanelWidth), 0.0F);
  for (index key0 = 0; key0 < p.key_end[row]; key0 += kRowBlockKeys) {
    block.collect(p, row, key0, std::min<index>(kRowBlockKeys, p.key_end[row] - key0));
    if (block.count == 0) continue;
    if (p.weights) {
      for (index n = 0; n < block.count; ++n) {
        p.weights(row, block.key[n]) = block.score[n];
      }
    }
    const index padded = round_up(block.count, kWidth<Isa>);
    float old_factor = 1.0F;
    if (softmax) {
      std::fill(block.score + block.count, block.score + padded, kMinusInfinity);
      const float new_max = std::max(row_max, max_of<Isa>(block.score, padded));
      const float shift = max_or_zero<Isa>(new_max);
      old_factor = exp_scalar<Isa>(std::min(row_max - shift, 0.0F));
      row_sum = row_sum * old_factor + exp_all<Isa>(block.score, padded, shift, 1.0F);
      row_max = new_max;
    } else {
      for (index n = 0; n < block.count; ++n) row_sum += block.score[n];
    }
    add_values<Isa>(p, block.key, block.score, block.count, old_factor, sums);
  }
  const float factor = reciprocal_sum<Isa>(row_sum);
  float* output = p.output.at(row);
  for (index c = 0; c < p.value_dim; ++c) output[c * p.output.col] = sums[c] * factor;
  if (p.weights) {
    const float shift = max_or_zero<Isa>(row_max);
    const std::uint8_t* mask = p.mask ? p.mask.at(row) : nullptr;
    for (index j = 0; j < p.key_end[row]; ++j) {
      if (mask && mask[j * p.mask.col] == 0) continue;
      float& weight = p.weights(row, j);
      weight = (softmax ? exp_scalar<Isa>(weight - shift) : weight) * factor;
    }
  }
}

template <class Isa>
void pool(const PoolingArgs& p, index row_begin, index row_end, float* scratch) noexcept {
  for (index row = row_begin; row < row_end; ++row) {
    // First, every key gets the score and weight of an excluded key. The pooling functions change
    // these numbers only for keys that are not excluded.
    if (p.scores) {
      for (index j = 0; j < p.num_keys; ++j) {
        p.scores(row, j) = p.excluded_score;
      }
    }
    if (p.weights) {
      for (index j = 0; j < p.num_keys; ++j) {
        p.weights(row, j) = 0.0F;
      }
    }
    if (p.hard) {
      pool_hard<Isa>(p, row);
    } else {
      pool_soft<Isa>(p, row, scratch);
    }
  }
}

}  // namespace attn::kernels
