#pragma once

// The final step of every attention kernel: it writes the outputs and, if the caller
// requests one, a stage of the scores.

#include <algorithm>
#include <cmath>

#include "kernels/attention_scores.hpp"

namespace attn::kernels {

template <class Isa>
ATTN_INLINE index value_cols(const AttentionHead& head) noexcept {
  return round_up(head.value_dim, kLanes<Isa>);
}
/// Number of columns of the Shaw tables, rounded up to whole micro-kernel tiles.
template <class Isa>
ATTN_INLINE index relative_cols(const AttentionHead& head) noexcept {
  return round_up(2 * head.max_distance + 1, Isa::kVectors * kWidth<Isa>);
}

/// True if all of x is finite: x − x is 0 for a finite number and NaN otherwise.
template <class Isa>
ATTN_INLINE bool is_finite(const float* x, index count) noexcept {
  using F = Floats<Isa>;
  index c = 0;
  F checks(0.0F);
  for (; c + kWidth<Isa> <= count; c += kWidth<Isa>) {
    const F value = F::load_unaligned(x + c);
    checks += value - value;
  }
  float check = 0.0F;
  for (; c < count; ++c) check += x[c] - x[c];
  return check == 0.0F && xsimd::all(checks == F(0.0F));
}

/// accumulator += Σ_c distance_weights_c · a^V_c.
template <class Isa>
ATTN_INLINE void add_relative_values(const AttentionHead& head, const float* distance_weights,
                                     float* accumulator) noexcept {
  using F = Floats<Isa>;
  const index cols = value_cols<Isa>(head);
  for (index c = 0; c <= 2 * head.max_distance; ++c) {
    const F weight(distance_weights[c]);
    const float* row = head.relative_values + c * cols;
    for (index j = 0; j < cols; j += kWidth<Isa>) {
      Isa::madd(weight, F::load_unaligned(row + j), F::load_unaligned(accumulator + j))
          .store_unaligned(accumulator + j);
    }
  }
}

/// output = factor · accumulator. Returns true if the whole output is finite.
template <class Isa>
bool write_output(const AttentionHead& head, index row, const float* accumulator,
                  float factor) noexcept {
  using F = Floats<Isa>;
  float* output = head.output.at(row);
  index c = 0;
  // x − x is 0 for finite x and NaN otherwise.
  float check = 0.0F;
  F checks(0.0F);
  if (head.output.col == 1) {
    for (; c + kWidth<Isa> <= head.value_dim; c += kWidth<Isa>) {
      const F value = F::load_unaligned(accumulator + c) * F(factor);
      checks += value - value;
      value.store_unaligned(output + c);
    }
  }
  for (; c < head.value_dim; ++c) {
    const float value = accumulator[c] * factor;
    check += value - value;
    output[c * head.output.col] = value;
  }
  return check == 0.0F && xsimd::all(checks == F(0.0F));
}

template <class Isa>
ATTN_INLINE void store_row(const ScoreOutput& out, index row, index key0, index keys,
                           const float* scores) noexcept {
  float* const to = out.data + row * out.row + key0 * out.col;
  if (!out.adds) return copy_row<Isa>(keys, scores, 1, to, out.col);
  for (index j = 0; j < keys; ++j) to[j] += scores[j];
}

/// Stores a row of a stage whose keys are all excluded.
template <class Isa>
void store_excluded(const ScoreOutput& out, index row, index key0, index keys,
                    float* scores) noexcept {
  std::fill_n(scores, keys, out.stage == ScoreStage::kWeights ? 0.0F : kMinusInfinity);
  store_row<Isa>(out, row, key0, keys, scores);
}

/// Computes the requested stage from a row of scale · q·k and stores it.
template <class Isa>
void store_scores(const AttentionHead& head, const ScoreOutput& out, index row, index key0,
                  index keys, const float* relative_products, float* scores) noexcept {
  modify_scores<Isa>(head, row, key0, keys, relative_products, out.stage, scores);
  if (out.stage >= ScoreStage::kBiased) exclude<Isa>(head, row, key0, keys, scores);
  store_row<Isa>(out, row, key0, keys, scores);
}

/// Turns a row of exponentials divided by `sum` into the final weights.
template <class Isa>
void finish_weights(const AttentionHead& head, index row, index key0, index keys, float sum,
                    float* weights) noexcept {
  if (std::isnan(sum)) {
    // Excluded keys have weight 0 even if the weights of attended keys are NaN.
    for (index j = 0; j < keys; ++j) {
      if (!is_attended<Isa>(head, row, key0 + j)) weights[j] = 0.0F;
    }
  }
  if (head.random_words) drop_weights<Isa>(head, row, key0, keys, weights);
}

}  // namespace attn::kernels
