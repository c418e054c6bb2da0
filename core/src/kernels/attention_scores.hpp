#pragma once

// The steps that turn q·k into the input of the softmax, and the steps that change the weights
// after the softmax. All steps work along a row, which contains the scores of one query. Every
// attention kernel and the backward pass use these steps.

#include <algorithm>
#include <cstdint>

#include "kernels/attention_exclusion.hpp"
#include "kernels/tanh.hpp"

namespace attn::kernels {

/// Describes which columns of the Shaw tables the keys of a block use, for one query. Keys from
/// `first` to `last` − 1 use consecutive columns.
struct RelativeSpan {
  index first;  ///< number of keys at the beginning of the block that all use column 0
  index last;   ///< first of the keys at the end of the block that all use the last column
  index column_of_first;  ///< column of key `first`
};

template <class Isa>
ATTN_INLINE RelativeSpan relative_span(const AttentionHead& head, index row, index key0,
                                       index keys) noexcept {
  // Key j has distance j − (row + offset); columns 0 … 2k are for distances −k … k.
  const index k = head.max_distance;
  const index zero = row + head.relative_offset - key0;
  const index first = std::clamp<index>(zero - k, 0, keys);
  const index last = std::clamp<index>(zero + k, first, keys);
  return {first, last, first - zero + k};
}

/// scores_j += scale · q · a^K, where a^K is the relative key of the clipped distance. `products`
/// contains scale · q · a^K for each clipped distance.
template <class Isa>
ATTN_INLINE void add_relative_keys(const AttentionHead& head, index row, index key0, index keys,
                                   const float* products, float* scores) noexcept {
  const RelativeSpan span = relative_span<Isa>(head, row, key0, keys);
  const float* middle = products + span.column_of_first - span.first;
  for (index j = 0; j < span.first; ++j) scores[j] += products[0];
  for (index j = span.first; j < span.last; ++j) scores[j] += middle[j];
  for (index j = span.last; j < keys; ++j) scores[j] += products[2 * head.max_distance];
}

/// Adds each weight to the sum of its clipped distance.
template <class Isa>
void sum_by_distance(const AttentionHead& head, index row, index key0, index keys,
                     const float* weights, float* distance_sums) noexcept {
  const RelativeSpan span = relative_span<Isa>(head, row, key0, keys);
  float* middle = distance_sums + span.column_of_first - span.first;
  for (index j = 0; j < span.first; ++j) distance_sums[0] += weights[j];
  for (index j = span.first; j < span.last; ++j) middle[j] += weights[j];
  for (index j = span.last; j < keys; ++j) distance_sums[2 * head.max_distance] += weights[j];
}

/// scores_j = c · tanh(scores_j / c). Processes whole vectors.
template <class Isa>
ATTN_INLINE void cap_scores(const AttentionHead& head, index keys, float* scores) noexcept {
  using F = Floats<Isa>;
  const F cap(head.softcap);
  for (index j = 0; j < keys; j += kWidth<Isa>) {
    (cap * tanh<Isa>(divide<Isa>(F::load_unaligned(scores + j), cap))).store_unaligned(scores + j);
  }
}

/// Adds the distance bias and the additive bias. A bias of −∞ excludes a key.
template <class Isa>
ATTN_INLINE void bias_scores(const AttentionHead& head, index row, index key0, index keys,
                             float* scores) noexcept {
  if (head.distance_bias) {
    const float* bias = head.distance_bias + key0 - row;
    for (index j = 0; j < keys; ++j) scores[j] += bias[j];
  }
  if (head.bias) {
    const float* bias = head.bias.at(row, key0);
    const index within = std::clamp<index>(head.bias_cols - key0, 0, keys);
    for (index j = 0; j < within; ++j) {
      const float b = bias[j * head.bias.col];
      // The score is replaced: adding −∞ would not be enough, because a score that is NaN or +∞
      // would become NaN.
      scores[j] = b == kMinusInfinity ? kMinusInfinity : scores[j] + b;
    }
    for (index j = within; j < keys; ++j) scores[j] = kMinusInfinity;
  }
}

/// Computes the requested stage from a row of scale · q·k, in place. A bias of −∞ excludes keys;
/// key ranges and the mask are not applied. `relative_products` are the row's products for
/// add_relative_keys, or null.
template <class Isa>
void modify_scores(const AttentionHead& head, index row, index key0, index keys,
                   const float* relative_products, ScoreStage stage, float* scores) noexcept {
  if (relative_products) {
    add_relative_keys<Isa>(head, row, key0, keys, relative_products, scores);
  }
  if (stage == ScoreStage::kScaled) return;
  if (head.softcap > 0) cap_scores<Isa>(head, keys, scores);
  if (stage == ScoreStage::kCapped) return;
  bias_scores<Isa>(head, row, key0, keys, scores);
}

/// Sets dropped weights to 0 and divides the others by the probability of being kept. `key0` is a
/// multiple of 4: one block of random words serves four keys.
template <class Isa>
void drop_weights(const AttentionHead& head, index row, index key0, index keys,
                  float* weights) noexcept {
  constexpr index kBlocks = 16;
  std::uint32_t words[4 * kBlocks];
  const index blocks_per_row = (head.num_keys + 3) / 4;
  const index first = (head.dropout_row + row) * blocks_per_row + key0 / 4;
  for (index j0 = 0; j0 < keys; j0 += 4 * kBlocks) {
    const index count = std::min(4 * kBlocks, keys - j0);
    head.random_words(head.random_seed, head.random_stream,
                      static_cast<std::uint64_t>(first + j0 / 4), (count + 3) / 4, words);
    for (index j = 0; j < count; ++j) {
      const bool keep = words[j] >= head.drop_below;
      weights[j0 + j] = keep ? weights[j0 + j] * head.dropout_scale : 0.0F;
    }
  }
}

}  // namespace attn::kernels
