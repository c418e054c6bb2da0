#pragma once

// Tiled attention with an online softmax: a few query rows meet one block of keys at a time, and
// only a running maximum, a running sum and an unnormalised output row are carried from block to
// block.
//
//   s_ij = bias(cap(scale · q_i·k_j))          for the keys j that query i may attend to
//   m_i  = max_j s_ij,   l_i = Σ_j exp(s_ij − m_i)
//   o_i  = Σ_j exp(s_ij − m_i) · v_j / l_i,    lse_i = m_i + ln l_i
//
// (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135.)

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/product_tile.hpp"

namespace attn::kernels {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr float kLog2E = 1.44269504F;

/// Floats between the rows of a score tile. Not a multiple of 1 KB, so that rows do not compete for
/// the same lines of the first-level cache.
inline constexpr index kScoreRow = kKeyTile + kPanelWidth;

/// Queries attended per call: what one pass over a block of keys is shared by.
template <class Isa>
inline constexpr index kAttentionRows = Isa::kRows*(round_up(48, Isa::kRows) / Isa::kRows);

/// The carved-up scratch memory of one call.
template <class Isa>
struct AttentionScratch {
  float* queries;      ///< kAttentionRows × head_dim: scaled and packed
  float* sums;         ///< kAttentionRows × value columns: unnormalised output
  float* scores;       ///< Isa::kRows × kScoreRow
  float* row_max;      ///< kAttentionRows
  float* row_sum;      ///< kAttentionRows
  float* kept_values;  ///< kKeyTile × value columns

  static index value_cols(const AttentionHead& head) noexcept {
    return round_up(head.value_dim, kWidth<Isa>);
  }
  static index size(const AttentionHead& head) noexcept {
    return kAttentionRows<Isa> * (head.head_dim + value_cols(head) + 2) + Isa::kRows * kScoreRow +
           kKeyTile * value_cols(head) + kPanelWidth;
  }
  AttentionScratch(const AttentionHead& head, float* memory) noexcept {
    queries = memory;
    sums = queries + kAttentionRows<Isa> * head.head_dim;
    scores = sums + kAttentionRows<Isa> * value_cols(head);
    row_max = scores + Isa::kRows * kScoreRow;
    row_sum = row_max + kAttentionRows<Isa>;
    kept_values = row_sum + kAttentionRows<Isa>;
  }
};

template <class Isa>
index attention_scratch(const AttentionHead& head) noexcept {
  return AttentionScratch<Isa>::size(head);
}

/// scale · q·k for `rows` packed queries and keys [key0, key0 + keys) into a score tile.
template <class Isa>
ATTN_INLINE void scaled_scores(const AttentionHead& head, const float* packed_queries, index rows,
                               index key0, index keys, float* scores) noexcept {
  constexpr int kVectors = Isa::kVectors;
  constexpr index kTileCols = kVectors * kWidth<Isa>;
  for (index col = 0; col < keys; col += kTileCols) {
    const float* b[kVectors];
    // A vector wholly beyond the last panel is never used; let it read the first one instead.
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      const index key = key0 + col + v * kWidth<Isa>;
      b[v] = packed_column<Isa>(head.packed_keys, head.head_dim, key < head.num_keys ? key : 0);
    });
    product_rows<Isa, kVectors, TileStart::kZero, 1, Isa::kRows>(
        rows, head.head_dim, packed_queries, b, kPanelWidth, scores + col, kScoreRow);
  }
}

/// Takes the scores of query `row` from scale · q·k to the stage asked for, in place. With
/// ScoreStage::kWeights excluded keys get −∞; before, nothing is excluded.
template <class Isa>
ATTN_INLINE void modify_scores(const AttentionHead& head, index row, index key0, index keys,
                               ScoreStage stage, float* scores) noexcept {
  if (head.softcap > 0 && stage >= ScoreStage::kCapped) {
    for (index j = 0; j < keys; ++j) {
      scores[j] = head.softcap * std::tanh(scores[j] / head.softcap);
    }
  }
  if (head.bias && stage >= ScoreStage::kBiased) {
    const float* bias = head.bias + row * head.bias_row + key0 * head.bias_col;
    for (index j = 0; j < keys; ++j) {
      const float b = bias[j * head.bias_col];
      // Not left to the addition: NaN and infinity in an excluded key would stay.
      const bool excluded = b == kMinusInfinity && stage == ScoreStage::kWeights;
      scores[j] = excluded ? kMinusInfinity : scores[j] + b;
    }
  }
  if (stage < ScoreStage::kWeights) return;
  if (head.mask) {
    const std::uint8_t* mask = head.mask + row * head.mask_row + key0 * head.mask_col;
    for (index j = 0; j < keys; ++j) {
      if (mask[j * head.mask_col] == 0) scores[j] = kMinusInfinity;
    }
  }
  const index begin = std::clamp<index>(head.key_begin[row] - key0, 0, keys);
  const index end = std::clamp<index>(head.key_end[row] - key0, begin, keys);
  for (index j = 0; j < begin; ++j) scores[j] = kMinusInfinity;
  for (index j = end; j < round_up(keys, kWidth<Isa>); ++j) scores[j] = kMinusInfinity;
}

template <class Isa>
ATTN_INLINE float max_of(const float* x, index padded_count) noexcept {
  using F = Floats<Isa>;
  F largest = F::load_unaligned(x);
  for (index j = kWidth<Isa>; j < padded_count; j += kWidth<Isa>) {
    largest = xsimd::max(F::load_unaligned(x + j), largest);
  }
  return xsimd::reduce_max(largest);
}

/// x_j = exp(x_j − shift) · factor; returns the sum.
template <class Isa>
ATTN_INLINE float exp_all(float* x, index padded_count, float shift, float factor) noexcept {
  using F = Floats<Isa>;
  const F shifts(shift);
  const F log2e(kLog2E);
  const F factors(factor);
  F sum(0.0F);
  for (index j = 0; j < padded_count; j += kWidth<Isa>) {
    const F e = exp2_nonpositive<Isa>((F::load_unaligned(x + j) - shifts) * log2e) * factors;
    e.store_unaligned(x + j);
    sum += e;
  }
  return xsimd::reduce_add(sum);
}

/// What is subtracted before exp: the maximum, or 0 for a row that has met no key yet.
inline float safe_shift(float row_max) noexcept { return row_max == kMinusInfinity ? 0 : row_max; }

template <class Isa>
ATTN_INLINE float exp_scalar(float x) noexcept {
  return exp2_nonpositive<Isa>(Floats<Isa>(x * kLog2E)).get(0);
}

/// sums (rows × value columns) = sums · factor + P · V for one block of keys.
template <class Isa, TileStart Start>
ATTN_INLINE void add_values(index rows, index keys, const float* probabilities, const float* value,
                            index value_row, index value_cols, float* sums,
                            const float* factor) noexcept {
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = Isa::kVectors;
  index col = 0;
  for (; col + kVectors * kW <= value_cols; col += kVectors * kW) {
    const float* b[kVectors];
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) { b[v] = value + col + v * kW; });
    product_rows<Isa, kVectors, Start, kScoreRow, 1>(rows, keys, probabilities, b, value_row,
                                                     sums + col, value_cols, factor);
  }
  for (; col < value_cols; col += kW) {
    const float* b[1] = {value + col};
    product_rows<Isa, 1, Start, kScoreRow, 1>(rows, keys, probabilities, b, value_row, sums + col,
                                              value_cols, factor);
  }
}

/// The block of values with the rows set to zero that query `row` may not attend to. A score of −∞
/// does not tell: that of an attended key may be infinite too.
template <class Isa>
const float* keep_attended(const AttentionHead& head, index row, index key0, index keys,
                           index value_cols, float* kept) noexcept {
  for (index j = 0; j < keys; ++j) {
    const index key = key0 + j;
    const bool attended =
        key >= head.key_begin[row] && key < head.key_end[row] &&
        (!head.mask || head.mask[row * head.mask_row + key * head.mask_col] != 0) &&
        (!head.bias || head.bias[row * head.bias_row + key * head.bias_col] != kMinusInfinity);
    const float* source = head.value + key * head.value_row;
    for (index c = 0; c < value_cols; ++c) {
      kept[j * value_cols + c] = attended && c < head.value_dim ? source[c] : 0.0F;
    }
  }
  return kept;
}

/// Meets `rows` ≤ Isa::kRows queries, the first of them `row`, with keys [key0, key0 + keys).
/// With `SkipExcluded` (one row only) values of excluded keys are not even multiplied by zero.
template <class Isa, bool SkipExcluded>
ATTN_INLINE void meet_keys(const AttentionHead& head, index row, index rows,
                           const float* packed_queries, index key0, index keys, bool first,
                           float* sums, float* row_max, float* row_sum,
                           const AttentionScratch<Isa>& scratch) noexcept {
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  const index padded_keys = round_up(keys, kWidth<Isa>);
  scaled_scores<Isa>(head, packed_queries, rows, key0, keys, scratch.scores);
  const float* value = head.value + key0 * head.value_row;
  index value_row = head.value_row;
  float factor[Isa::kRows];
  bool rescale = false;
  for (index r = 0; r < rows; ++r) {
    float* scores = scratch.scores + r * kScoreRow;
    modify_scores<Isa>(head, row + r, key0, keys, ScoreStage::kWeights, scores);
    if constexpr (SkipExcluded) {
      value = keep_attended<Isa>(head, row + r, key0, keys, value_cols, scratch.kept_values);
      value_row = value_cols;
    }
    const float old_max = row_max[r];
    const float new_max = std::max(old_max, max_of<Isa>(scores, padded_keys));
    const float sum = exp_all<Isa>(scores, padded_keys, safe_shift(new_max), 1.0F);
    // Equal maxima, −∞ twice included, need no rescaling.
    factor[r] = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    rescale |= factor[r] != 1.0F;
    row_sum[r] = row_sum[r] * factor[r] + sum;
    row_max[r] = new_max;
  }
  if (first) {
    add_values<Isa, TileStart::kZero>(rows, keys, scratch.scores, value, value_row, value_cols,
                                      sums, factor);
  } else if (rescale) {
    add_values<Isa, TileStart::kScaled>(rows, keys, scratch.scores, value, value_row, value_cols,
                                        sums, factor);
  } else {
    add_values<Isa, TileStart::kLoad>(rows, keys, scratch.scores, value, value_row, value_cols,
                                      sums, factor);
  }
}

/// Output and log-sum-exp of query `row` from what was carried. Returns whether all is finite.
template <class Isa>
ATTN_INLINE bool finish_row(const AttentionHead& head, index row, const float* sums, float row_max,
                            float row_sum) noexcept {
  const float factor = row_sum == 0.0F ? 0.0F : 1.0F / row_sum;
  float* output = head.output + row * head.output_row;
  // x − x is 0 for finite x and NaN otherwise.
  float check = 0.0F;
  for (index c = 0; c < head.value_dim; ++c) {
    const float value = sums[c] * factor;
    check += value - value;
    output[c * head.output_col] = value;
  }
  if (head.log_sum_exp) {
    head.log_sum_exp[row * head.log_sum_exp_row] =
        row_sum == 0.0F ? kMinusInfinity : row_max + std::log(row_sum);
  }
  return check == 0.0F;
}

/// Fills one stage of the scores for `rows` queries. Recomputes them: only who asks for the N × N
/// numbers pays for them.
template <class Isa>
void write_scores(const AttentionHead& head, index row, index rows, const float* packed_queries,
                  const float* row_max, const float* row_sum, const ScoreOutput& out,
                  float* score_tile) noexcept {
  for (index key0 = 0; key0 < head.num_keys; key0 += kKeyTile) {
    const index keys = std::min(kKeyTile, head.num_keys - key0);
    scaled_scores<Isa>(head, packed_queries, rows, key0, keys, score_tile);
    for (index r = 0; r < rows; ++r) {
      float* scores = score_tile + r * kScoreRow;
      modify_scores<Isa>(head, row + r, key0, keys, out.stage, scores);
      if (out.stage == ScoreStage::kWeights) {
        if (std::isnan(row_sum[r])) {
          // Excluded keys have weight 0 beside attended ones of NaN, too.
          for (index j = 0; j < keys; ++j) {
            scores[j] = scores[j] == kMinusInfinity ? 0.0F : row_sum[r];
          }
        } else {
          exp_all<Isa>(scores, round_up(keys, kWidth<Isa>), safe_shift(row_max[r]),
                       row_sum[r] == 0.0F ? 0.0F : 1.0F / row_sum[r]);
        }
      }
      float* target = out.data + (row + r) * out.row + key0 * out.col;
      for (index j = 0; j < keys; ++j) target[j * out.col] = scores[j];
    }
  }
}

template <class Isa>
void attend(const AttentionHead& head, index row_begin, index row_end, const ScoreOutput* outputs,
            int num_outputs, float* memory) noexcept {
  const AttentionScratch<Isa> scratch(head, memory);
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  constexpr index kR = Isa::kRows;

  for (index block = row_begin; block < row_end; block += kAttentionRows<Isa>) {
    const index block_rows = std::min(kAttentionRows<Isa>, row_end - block);
    std::fill_n(scratch.row_max, block_rows, kMinusInfinity);
    std::fill_n(scratch.row_sum, block_rows, 0.0F);
    std::fill_n(scratch.sums, block_rows * value_cols, 0.0F);
    index key_begin = head.num_keys;
    index key_end = 0;
    for (index r = 0; r < block_rows; r += kR) {
      pack_rows<Isa>(std::min(kR, block_rows - r), head.head_dim,
                     head.query + (block + r) * head.query_row, head.query_row, head.query_col,
                     head.scale, scratch.queries + r * head.head_dim);
    }
    for (index r = 0; r < block_rows; ++r) {
      if (head.key_begin[block + r] >= head.key_end[block + r]) continue;
      key_begin = std::min<index>(key_begin, head.key_begin[block + r]);
      key_end = std::max<index>(key_end, head.key_end[block + r]);
    }
    key_begin = key_begin / kKeyTile * kKeyTile;

    for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
      const index keys = std::min(kKeyTile, head.num_keys - key0);
      for (index r = 0; r < block_rows; r += kR) {
        meet_keys<Isa, false>(head, block + r, std::min(kR, block_rows - r),
                              scratch.queries + r * head.head_dim, key0, keys, key0 == key_begin,
                              scratch.sums + r * value_cols, scratch.row_max + r,
                              scratch.row_sum + r, scratch);
      }
    }

    for (index r = 0; r < block_rows; ++r) {
      float* sums = scratch.sums + r * value_cols;
      if (finish_row<Isa>(head, block + r, sums, scratch.row_max[r], scratch.row_sum[r])) continue;
      // Not finite: perhaps a weight of zero has met an infinity or NaN that is excluded. Do this
      // row again without touching what it may not attend to.
      scratch.row_max[r] = kMinusInfinity;
      scratch.row_sum[r] = 0.0F;
      std::fill_n(sums, value_cols, 0.0F);
      for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
        // The packed query of row r is a column of its group's panel: a one-row tile reads it with
        // the same strides.
        meet_keys<Isa, true>(head, block + r, 1,
                             scratch.queries + r / kR * kR * head.head_dim + r % kR, key0,
                             std::min(kKeyTile, head.num_keys - key0), key0 == key_begin, sums,
                             scratch.row_max + r, scratch.row_sum + r, scratch);
      }
      finish_row<Isa>(head, block + r, sums, scratch.row_max[r], scratch.row_sum[r]);
    }

    for (int i = 0; i < num_outputs; ++i) {
      for (index r = 0; r < block_rows; r += kR) {
        write_scores<Isa>(head, block + r, std::min(kR, block_rows - r),
                          scratch.queries + r * head.head_dim, scratch.row_max + r,
                          scratch.row_sum + r, outputs[i], scratch.scores);
      }
    }
  }
}

}  // namespace attn::kernels
