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

#include "kernels/attention_scores.hpp"
#include "kernels/product_tile.hpp"

namespace attn::kernels {

/// Floats between the rows of a score tile. Not a multiple of 1 KB, so that rows do not compete for
/// the same lines of the first-level cache.
inline constexpr index kScoreRow = kKeyTile + kPanelWidth;

/// Queries attended per call: what one pass over a block of keys is shared by.
template <class Isa>
inline constexpr index kAttentionRows = Isa::kRows * (round_up(48, Isa::kRows) / Isa::kRows);

/// What is carried for a few query rows, from one block of keys to the next.
struct QueryRows {
  index first;                     ///< number of the first query
  index count;                     ///< at most Isa::kRows
  const float* queries;            ///< scaled and packed
  const float* relative_products;  ///< count × relative columns, or null
  float* sums;                     ///< count × value columns: unnormalised output
  float* row_max;
  float* row_sum;
  float* distance_sums;  ///< count × relative columns: weights per clipped distance, or null
};

/// The carved-up scratch memory of one call.
template <class Isa>
class AttentionScratch {
 public:
  static index value_cols(const AttentionHead& head) noexcept {
    return round_up(head.value_dim, kWidth<Isa>);
  }
  /// Columns of the Shaw tables, in whole micro-kernel tiles.
  static index relative_cols(const AttentionHead& head) noexcept {
    return round_up(2 * head.max_distance + 1, Isa::kVectors * kWidth<Isa>);
  }
  static index size(const AttentionHead& head) noexcept {
    const index relative = (head.packed_relative_keys ? relative_cols(head) : 0) +
                           (head.relative_values ? relative_cols(head) : 0);
    return kAttentionRows<Isa> * (head.head_dim + value_cols(head) + 2 + relative) +
           Isa::kRows * kScoreRow + kKeyTile * value_cols(head) + kPanelWidth;
  }

  AttentionScratch(const AttentionHead& head, float* memory) noexcept
      : scores(memory), head_(head) {
    const auto take = [&](index count) {
      float* result = memory;
      memory += count;
      return result;
    };
    take(Isa::kRows * kScoreRow);
    queries_ = take(kAttentionRows<Isa> * head.head_dim);
    sums_ = take(kAttentionRows<Isa> * value_cols(head));
    row_max_ = take(kAttentionRows<Isa>);
    row_sum_ = take(kAttentionRows<Isa>);
    kept_values = take(kKeyTile * value_cols(head));
    if (head.packed_relative_keys) products_ = take(kAttentionRows<Isa> * relative_cols(head));
    if (head.relative_values) distances_ = take(kAttentionRows<Isa> * relative_cols(head));
  }

  /// `count` rows of the block that starts at query `block`, from its row r on; r a multiple of
  /// Isa::kRows, or count 1.
  QueryRows rows(index block, index r, index count) const noexcept {
    // The packed query of a single row is a column of its group's panel: a one-row tile reads it
    // with the same strides.
    const index panel = r / Isa::kRows * Isa::kRows;
    const index relative = relative_cols(head_);
    return {block + r,
            count,
            queries_ + panel * head_.head_dim + (r - panel),
            products_ ? products_ + r * relative : nullptr,
            sums_ + r * value_cols(head_),
            row_max_ + r,
            row_sum_ + r,
            distances_ ? distances_ + r * relative : nullptr};
  }

  float* packed_queries(index r) const noexcept { return queries_ + r * head_.head_dim; }
  float* relative_products(index r) const noexcept {
    return products_ ? products_ + r * relative_cols(head_) : nullptr;
  }

  float* scores;       ///< Isa::kRows × kScoreRow
  float* kept_values;  ///< kKeyTile × value columns

 private:
  float* queries_;
  float* sums_;
  float* row_max_;
  float* row_sum_;
  float* products_ = nullptr;
  float* distances_ = nullptr;
  const AttentionHead& head_;
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

/// The block of values with the rows set to zero that query `row` may not attend to.
template <class Isa>
const float* keep_attended(const AttentionHead& head, index row, index key0, index keys,
                           index value_cols, float* kept) noexcept {
  for (index j = 0; j < keys; ++j) {
    const bool attended = is_attended<Isa>(head, row, key0 + j);
    const float* source = head.value + (key0 + j) * head.value_row;
    for (index c = 0; c < value_cols; ++c) {
      kept[j * value_cols + c] = attended && c < head.value_dim ? source[c] : 0.0F;
    }
  }
  return kept;
}

/// Starts rows afresh: nothing met but the sink.
template <class Isa>
ATTN_INLINE void begin_rows(const AttentionHead& head, const QueryRows& rows) noexcept {
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  std::fill_n(rows.sums, rows.count * value_cols, 0.0F);
  std::fill_n(rows.row_max, rows.count, head.sink);
  std::fill_n(rows.row_sum, rows.count, head.sink == kMinusInfinity ? 0.0F : 1.0F);
  if (rows.distance_sums) {
    std::fill_n(rows.distance_sums, rows.count * AttentionScratch<Isa>::relative_cols(head), 0.0F);
  }
}

/// Takes scale · q·k of the rows with keys [key0, key0 + keys), in the score tile, on to the
/// weighted sum of values. With `SkipExcluded` (one row only) values of excluded keys are not even
/// multiplied by zero.
template <class Isa, bool SkipExcluded>
ATTN_INLINE void meet_scores(const AttentionHead& head, const QueryRows& rows, index key0,
                             index keys, const AttentionScratch<Isa>& scratch) noexcept {
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  const index relative_cols = AttentionScratch<Isa>::relative_cols(head);
  const index padded_keys = round_up(keys, kWidth<Isa>);
  const float* value = head.value + key0 * head.value_row;
  index value_row = head.value_row;
  float factor[Isa::kRows];
  bool rescale = false;
  for (index r = 0; r < rows.count; ++r) {
    float* scores = scratch.scores + r * kScoreRow;
    modify_scores<Isa>(
        head, rows.first + r, key0, keys,
        rows.relative_products ? rows.relative_products + r * relative_cols : nullptr,
        ScoreStage::kWeights, scores);
    if constexpr (SkipExcluded) {
      value = keep_attended<Isa>(head, rows.first + r, key0, keys, value_cols, scratch.kept_values);
      value_row = value_cols;
    }
    const float old_max = rows.row_max[r];
    const float new_max = std::max(old_max, max_of<Isa>(scores, padded_keys));
    const float sum = exp_all<Isa>(scores, padded_keys, safe_shift<Isa>(new_max), 1.0F);
    // Equal maxima, −∞ twice included, need no rescaling.
    factor[r] = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    rescale |= factor[r] != 1.0F;
    rows.row_sum[r] = rows.row_sum[r] * factor[r] + sum;
    rows.row_max[r] = new_max;
    if (head.random_words) drop_weights<Isa>(head, rows.first + r, key0, keys, scores);
    if (rows.distance_sums) {
      float* sums = rows.distance_sums + r * relative_cols;
      if (factor[r] != 1.0F) {
        for (index c = 0; c <= 2 * head.max_distance; ++c) sums[c] *= factor[r];
      }
      add_to_distances<Isa>(head, rows.first + r, key0, keys, scores, sums);
    }
  }
  if (rescale) {
    add_values<Isa, TileStart::kScaled>(rows.count, keys, scratch.scores, value, value_row,
                                        value_cols, rows.sums, factor);
  } else {
    add_values<Isa, TileStart::kLoad>(rows.count, keys, scratch.scores, value, value_row,
                                      value_cols, rows.sums, factor);
  }
}

/// Meets the rows with keys [key0, key0 + keys).
template <class Isa, bool SkipExcluded>
ATTN_INLINE void meet_keys(const AttentionHead& head, const QueryRows& rows, index key0, index keys,
                           const AttentionScratch<Isa>& scratch) noexcept {
  scaled_scores<Isa>(head, rows.queries, rows.count, key0, keys, scratch.scores);
  meet_scores<Isa, SkipExcluded>(head, rows, key0, keys, scratch);
}

/// sums += Σ_c distance_sums_c · a^V_c for one row.
template <class Isa>
ATTN_INLINE void add_relative_values(const AttentionHead& head, const float* distance_sums,
                                     float* sums) noexcept {
  using F = Floats<Isa>;
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  for (index c = 0; c <= 2 * head.max_distance; ++c) {
    const F weight(distance_sums[c]);
    const float* row = head.relative_values + c * value_cols;
    for (index j = 0; j < value_cols; j += kWidth<Isa>) {
      Isa::madd(weight, F::load_unaligned(row + j), F::load_unaligned(sums + j))
          .store_unaligned(sums + j);
    }
  }
}

/// Output and log-sum-exp of query `row` from what was carried. Returns whether all is finite.
template <class Isa>
ATTN_INLINE bool finish_row(const AttentionHead& head, index row, const float* sums, float row_max,
                            float row_sum) noexcept {
  const float factor = reciprocal_sum<Isa>(row_sum);
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

template <class Isa>
ATTN_INLINE bool finish_rows(const AttentionHead& head, const QueryRows& rows) noexcept {
  bool finite = true;
  for (index r = 0; r < rows.count; ++r) {
    float* sums = rows.sums + r * AttentionScratch<Isa>::value_cols(head);
    if (rows.distance_sums) {
      add_relative_values<Isa>(
          head, rows.distance_sums + r * AttentionScratch<Isa>::relative_cols(head), sums);
    }
    finite &= finish_row<Isa>(head, rows.first + r, sums, rows.row_max[r], rows.row_sum[r]);
  }
  return finite;
}

/// Takes scale · q·k of row r with keys [key0, key0 + keys) to the stage asked for, and writes it.
template <class Isa>
ATTN_INLINE void write_row(const AttentionHead& head, const QueryRows& rows, index r, index key0,
                           index keys, const ScoreOutput& out, float* scores) noexcept {
  const float* products = rows.relative_products;
  if (products) products += r * AttentionScratch<Isa>::relative_cols(head);
  const index row = rows.first + r;
  modify_scores<Isa>(head, row, key0, keys, products, out.stage, scores);
  if (out.stage == ScoreStage::kWeights) {
    if (std::isnan(rows.row_sum[r])) {
      // Excluded keys have weight 0 beside attended ones of NaN, too.
      for (index j = 0; j < keys; ++j) {
        scores[j] = scores[j] == kMinusInfinity ? 0.0F : rows.row_sum[r];
      }
    } else {
      exp_all<Isa>(scores, round_up(keys, kWidth<Isa>), safe_shift<Isa>(rows.row_max[r]),
                   reciprocal_sum<Isa>(rows.row_sum[r]));
    }
    if (head.random_words) drop_weights<Isa>(head, row, key0, keys, scores);
  }
  float* target = out.data + row * out.row + key0 * out.col;
  for (index j = 0; j < keys; ++j) target[j * out.col] = scores[j];
}

/// Fills one stage of the scores for some rows. Recomputes them: only who asks for the N × N
/// numbers pays for them.
template <class Isa>
void write_scores(const AttentionHead& head, const QueryRows& rows, const ScoreOutput& out,
                  float* score_tile) noexcept {
  for (index key0 = 0; key0 < head.num_keys; key0 += kKeyTile) {
    const index keys = std::min(kKeyTile, head.num_keys - key0);
    scaled_scores<Isa>(head, rows.queries, rows.count, key0, keys, score_tile);
    for (index r = 0; r < rows.count; ++r) {
      write_row<Isa>(head, rows, r, key0, keys, out, score_tile + r * kScoreRow);
    }
  }
}

/// Scales and packs the queries of a block, and multiplies them with the Shaw table.
template <class Isa>
void prepare_queries(const AttentionHead& head, index block, index block_rows,
                     const AttentionScratch<Isa>& scratch) noexcept {
  constexpr index kR = Isa::kRows;
  constexpr int kVectors = Isa::kVectors;
  for (index r = 0; r < block_rows; r += kR) {
    const index rows = std::min(kR, block_rows - r);
    pack_rows<Isa>(rows, head.head_dim, head.query + (block + r) * head.query_row, head.query_row,
                   head.query_col, head.scale, scratch.packed_queries(r));
    if (!head.packed_relative_keys) continue;
    const index columns = 2 * head.max_distance + 1;
    const index stride = AttentionScratch<Isa>::relative_cols(head);
    for (index col = 0; col < columns; col += kVectors * kWidth<Isa>) {
      const float* b[kVectors];
      unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
        const index c = col + v * kWidth<Isa>;
        b[v] = packed_column<Isa>(head.packed_relative_keys, head.head_dim, c < columns ? c : 0);
      });
      product_rows<Isa, kVectors, TileStart::kZero, 1, Isa::kRows>(
          rows, head.head_dim, scratch.packed_queries(r), b, kPanelWidth,
          scratch.relative_products(r) + col, stride);
    }
  }
}

template <class Isa>
void attend(const AttentionHead& head, index row_begin, index row_end, const ScoreOutput* outputs,
            int num_outputs, float* memory) noexcept {
  const AttentionScratch<Isa> scratch(head, memory);
  constexpr index kR = Isa::kRows;

  for (index block = row_begin; block < row_end; block += kAttentionRows<Isa>) {
    const index block_rows = std::min(kAttentionRows<Isa>, row_end - block);
    prepare_queries<Isa>(head, block, block_rows, scratch);

    index key_begin = head.num_keys;
    index key_end = 0;
    for (index r = 0; r < block_rows; ++r) {
      if (head.key_begin[block + r] >= head.key_end[block + r]) continue;
      key_begin = std::min<index>(key_begin, head.key_begin[block + r]);
      key_end = std::max<index>(key_end, head.key_end[block + r]);
    }
    key_begin = key_begin / kKeyTile * kKeyTile;

    begin_rows<Isa>(head, scratch.rows(block, 0, block_rows));
    for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
      const index keys = std::min(kKeyTile, head.num_keys - key0);
      for (index r = 0; r < block_rows; r += kR) {
        meet_keys<Isa, false>(head, scratch.rows(block, r, std::min(kR, block_rows - r)), key0,
                              keys, scratch);
      }
    }

    for (index r = 0; r < block_rows; ++r) {
      const QueryRows row = scratch.rows(block, r, 1);
      if (finish_rows<Isa>(head, row)) continue;
      // Not finite: perhaps a weight of zero has met an infinity or NaN that is excluded. Do this
      // row again without touching what it may not attend to.
      begin_rows<Isa>(head, row);
      for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
        meet_keys<Isa, true>(head, row, key0, std::min(kKeyTile, head.num_keys - key0), scratch);
      }
      finish_rows<Isa>(head, row);
    }

    for (int i = 0; i < num_outputs; ++i) {
      for (index r = 0; r < block_rows; r += kR) {
        write_scores<Isa>(head, scratch.rows(block, r, std::min(kR, block_rows - r)), outputs[i],
                          scratch.scores);
      }
    }
  }
}

}  // namespace attn::kernels
