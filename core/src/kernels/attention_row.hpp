#pragma once

// Computes attention for one query over blocks of keys, along a row of scores. Used in two cases. A
// single query over a long cache gains nothing from tiles, because it reads every key only once.
// Tiles cannot handle a query whose scores are too large or whose output is not finite. Only a
// running maximum, a running sum and an unnormalised output are carried from block to block
// (Milakov & Gimelshein 2018, arXiv:1805.02867).

#include <algorithm>
#include <cmath>

#include "kernels/attention_output.hpp"
#include "kernels/byte_rows.hpp"
#include "kernels/logarithm.hpp"
#include "kernels/stored_rows.hpp"

namespace attn::kernels {

/// The running sums of a query over the keys so far.
struct RowSums {
  float* row_max;
  float* row_sum;
  float* accumulator;  ///< unnormalised output, one float per value column
  float*
      distance_weights;  ///< sums of weights for each clipped distance (relative columns), or null
};

/// The scratch memory of one query.
template <class Isa>
class RowScratch {
 public:
  static index size(const AttentionHead& head) noexcept {
    return 2 * round_up(head.head_dim, kPanelWidth) + kRowBlockKeys + kPanelWidth +
           widened_size(head) + byte_query_size(head) + sums_size(head) +
           (head.packed_relative_keys ? relative_cols<Isa>(head) : 0);
  }
  /// Number of floats in a block of values or of keys.
  static index widened_size(const AttentionHead& head) noexcept {
    return kRowBlockKeys * std::max(value_cols<Isa>(head), round_up(head.head_dim, kWidth<Isa>));
  }
  /// Number of floats in a ByteQuery, or 0 if the head does not use one.
  static index byte_query_size(const AttentionHead& head) noexcept {
    if constexpr (kDotsBytes<Isa>) {
      if (head.stored_key.type == ElementType::kInt8) return ByteQuery<Isa>::size(head.head_dim);
    }
    return 0;
  }
  /// Number of floats in a RowSums.
  static index sums_size(const AttentionHead& head) noexcept {
    return round_up(
        2 + value_cols<Isa>(head) + (head.relative_values ? relative_cols<Isa>(head) : 0),
        kPanelWidth);
  }
  static RowSums sums_at(const AttentionHead& head, float* memory) noexcept {
    return {memory, memory + 1, memory + 2,
            head.relative_values ? memory + 2 + value_cols<Isa>(head) : nullptr};
  }

  RowScratch(const AttentionHead& head, float* memory) noexcept : query(memory) {
    pair_scaled_query = query + round_up(head.head_dim, kPanelWidth);
    scores = pair_scaled_query + round_up(head.head_dim, kPanelWidth);
    widened = scores + kRowBlockKeys + kPanelWidth;
    byte_query = widened + widened_size(head);
    sums = sums_at(head, byte_query + byte_query_size(head));
    relative_products = head.packed_relative_keys ? sums.row_max + sums_size(head) : nullptr;
  }

  float* query;              ///< scaled
  float* pair_scaled_query;  ///< the query multiplied by kPairScale
  float* scores;             ///< scores of one block of keys
  float* widened;            ///< values or keys of one block, as floats
  float* byte_query;         ///< memory for a ByteQuery, if the instruction set multiplies bytes
  RowSums sums;
  float* relative_products;  ///< products of the query with the Shaw table, or null
};

/// Scales the query and multiplies it by the Shaw table.
template <class Isa>
void prepare_row(const AttentionHead& head, index row, const RowScratch<Isa>& scratch) noexcept {
  const float* source = head.query.at(row);
  for (index d = 0; d < head.head_dim; ++d) {
    scratch.query[d] = head.scale * source[d * head.query.col];
  }
  if constexpr (kDotsBytes<Isa>) {
    if (head.stored_key.type == ElementType::kInt8) {
      ByteQuery<Isa>(scratch.byte_query).set(head.head_dim, scratch.query);
    }
  }
  if (!scratch.relative_products) return;
  for (index c = 0; c <= 2 * head.max_distance; ++c) {
    const float* column = packed_column<Isa>(head.packed_relative_keys, head.head_dim, c);
    float sum = 0.0F;
    for (index d = 0; d < head.head_dim; ++d) sum += scratch.query[d] * column[d * kPanelWidth];
    scratch.relative_products[c] = sum;
  }
}

/// Initialises the sums before the first key. At first they contain only the sink's score, which is
/// −∞ if there is no sink.
template <class Isa>
void begin_row(const AttentionHead& head, float sink, const RowSums& sums) noexcept {
  *sums.row_max = sink;
  *sums.row_sum = sink == kMinusInfinity ? 0.0F : 1.0F;
  std::fill_n(sums.accumulator, value_cols<Isa>(head), 0.0F);
  if (sums.distance_weights) std::fill_n(sums.distance_weights, relative_cols<Isa>(head), 0.0F);
}

ATTN_INLINE const std::int8_t* int8_row(const StoredRows& rows, index i) noexcept {
  return static_cast<const std::int8_t*>(rows.data) + i * rows.row;
}

/// x_j = x_j · scale_j for rows starting at `first`.
template <class Isa>
__attribute__((noinline)) void multiply_by_scales(const StoredRows& rows, index first, index count,
                                                  float* x) noexcept {
  const float* const scales = rows.scales + first * rows.scale_row;
  // With stride 1, the compiler vectorises the loop. If rows are widened, this hardly matters.
  if (kDotsBytes<Isa> && rows.scale_row == 1) {
    for (index j = 0; j < count; ++j) x[j] *= scales[j];
  } else {
    for (index j = 0; j < count; ++j) x[j] *= scales[j * rows.scale_row];
  }
}

/// scores_j = q · k_j for keys starting at key0.
template <class Isa>
void dot_keys(const AttentionHead& head, const RowScratch<Isa>& scratch, index key0, index keys,
              float* scores) noexcept {
  const StoredRows& rows = head.stored_key;
  bool done = false;
  if constexpr (kDotsBytes<Isa>) {
    if (rows.type == ElementType::kInt8) {
      const ByteQuery<Isa> query(scratch.byte_query);
      if (query.is_set(head.head_dim)) {
        const StoredRows& values = head.stored_value;
        const RowsAhead ahead{int8_row(values, key0), values.row};
        dot_byte_rows<Isa>(head.head_dim, query, int8_row(rows, key0), rows.row, keys, ahead,
                           scores);
        return multiply_by_scales<Isa>(rows, key0, keys, scores);
      }
    }
  }
  with_type(rows.type, rows.data, [&](const auto* key) ATTN_INLINED {
    done = dot_rows<Isa>(head.head_dim, scratch.query, key + key0 * rows.row, rows.row, keys,
                         scores, scratch.pair_scaled_query);
  });
  if (!done) {
    const index cols = round_up(head.head_dim, kWidth<Isa>);
    widen_rows<Isa>(rows, key0, keys, head.head_dim, cols, scratch.widened);
    const float* const widened = scratch.widened;
    dot_rows<Isa>(head.head_dim, scratch.query, widened, cols, keys, scores, nullptr);
  }
  if (rows.scales) multiply_by_scales<Isa>(rows, key0, keys, scores);
}

/// Copies the block of values, with zeros in place of rows that query `row` may not attend to. int8
/// values are copied without their scales.
template <class Isa>
void copy_attended(const AttentionHead& head, index row, index key0, index keys,
                   float* to) noexcept {
  const index cols = value_cols<Isa>(head);
  for (index j = 0; j < keys; ++j) {
    const index count = is_attended<Isa>(head, row, key0 + j) ? head.value_dim : 0;
    widen_rows<Isa>(head.stored_value, key0 + j, 1, count, cols, to + j * cols);
  }
}

/// sums = sums · factor + Σ_j weight_j · v_j for one block of keys. Scales are multiplied into the
/// weights. With `skip_excluded`, the values are first copied to `copies`, with zeros in place of
/// the values of excluded keys, so NaN or infinity in an excluded value has no effect.
template <class Isa>
void add_weighted_values(const AttentionHead& head, index row, index key0, index keys,
                         bool skip_excluded, float* weights, float factor, float* copies,
                         float* sums) noexcept {
  const index cols = value_cols<Isa>(head);
  const StoredRows& rows = head.stored_value;
  if (rows.scales) {
    multiply_by_scales<Isa>(rows, key0, keys, weights);
    for (index j = 0; skip_excluded && j < keys; ++j) {
      if (!is_attended<Isa>(head, row, key0 + j)) weights[j] = 0.0F;
    }
  }
  if constexpr (kDotsBytes<Isa>) {
    if (rows.type == ElementType::kInt8) {
      const StoredRows& next = head.stored_key;
      const RowsAhead ahead{int8_row(next, key0 + kRowBlockKeys), next.row};
      return add_weighted_byte_rows<Isa>(keys, weights, int8_row(rows, key0), rows.row,
                                         head.value_dim, factor, ahead,
                                         reinterpret_cast<std::uint8_t*>(copies), sums);
    }
  }
  const auto add_copies = [&] {
    copy_attended<Isa>(head, row, key0, keys, copies);
    add_weighted_rows<Isa>(keys, weights, copies, cols, cols, factor, sums);
  };
  if (skip_excluded) return add_copies();
  with_type(rows.type, rows.data, [&](const auto* value) ATTN_INLINED {
    const auto* first = value + key0 * rows.row;
    if constexpr (std::is_same_v<decltype(value), const float*>) {
      add_weighted_rows<Isa>(keys, weights, first, rows.row, cols, factor, sums);
    } else {
      if (!reads_stored<Isa>(first, cols, 4, weights, keys)) return add_copies();
      add_weighted_rows<Isa>(keys, weights, first, rows.row, cols, factor, copies, sums);
    }
  });
}

/// Adds keys [key_begin, key_end) to the sums; key_begin is a multiple of kRowBlockKeys. With
/// `skip_excluded`, values of excluded keys are replaced by zeros before they are multiplied.
template <class Isa>
void add_keys(const AttentionHead& head, index row, index key_begin, index key_end,
              bool skip_excluded, const RowScratch<Isa>& scratch, const RowSums& sums) noexcept {
  for (index key0 = key_begin; key0 < key_end; key0 += kRowBlockKeys) {
    const index keys = std::min(kRowBlockKeys, key_end - key0);
    if (find_coverage<Isa>(head, row, 1, key0, keys) == Coverage::kNone) continue;
    const index padded_keys = round_up(keys, kWidth<Isa>);
    dot_keys<Isa>(head, scratch, key0, keys, scratch.scores);
    modify_scores<Isa>(head, row, key0, keys, scratch.relative_products, ScoreStage::kWeights,
                       scratch.scores);
    exclude<Isa>(head, row, key0, keys, scratch.scores);
    const float old_max = *sums.row_max;
    const float new_max = std::max(old_max, max_of<Isa>(scratch.scores, padded_keys));
    const float sum = exp_all<Isa>(scratch.scores, padded_keys, max_or_zero<Isa>(new_max), 1.0F);
    // If the maximum does not change, the sums need no rescaling, even if the old and the new
    // maximum are −∞.
    const float factor = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    *sums.row_sum = *sums.row_sum * factor + sum;
    *sums.row_max = new_max;
    if (head.random_words) drop_weights<Isa>(head, row, key0, keys, scratch.scores);
    if (sums.distance_weights) {
      for (index c = 0; c <= 2 * head.max_distance; ++c) sums.distance_weights[c] *= factor;
      sum_by_distance<Isa>(head, row, key0, keys, scratch.scores, sums.distance_weights);
    }
    add_weighted_values<Isa>(head, row, key0, keys, skip_excluded, scratch.scores, factor,
                             scratch.widened, sums.accumulator);
  }
}

/// Computes the output and the log-sum-exp of a query from its sums.
template <class Isa>
void finish_row(const AttentionHead& head, index row, const RowSums& sums) noexcept {
  if (sums.distance_weights) {
    add_relative_values<Isa>(head, sums.distance_weights, sums.accumulator);
  }
  write_output<Isa>(head, row, sums.accumulator, reciprocal_sum<Isa>(*sums.row_sum));
  if (head.log_sum_exp) {
    head.log_sum_exp[row * head.log_sum_exp_row] =
        static_cast<float>(static_cast<double>(*sums.row_max) + natural_log<Isa>(*sums.row_sum));
  }
}

/// Writes the scores of a query at the stage `out.stage`, after the query's sums are complete.
template <class Isa>
void write_row(const AttentionHead& head, index row, const ScoreOutput& out,
               const RowScratch<Isa>& scratch, const RowSums& sums) noexcept {
  float* scores = scratch.scores;
  for (index key0 = 0; key0 < head.num_keys; key0 += kRowBlockKeys) {
    const index keys = std::min(kRowBlockKeys, head.num_keys - key0);
    if (out.stage >= ScoreStage::kBiased &&
        find_coverage<Isa>(head, row, 1, key0, keys) == Coverage::kNone) {
      store_excluded<Isa>(out, row, key0, keys, scores);
      continue;
    }
    dot_keys<Isa>(head, scratch, key0, keys, scores);
    if (out.stage != ScoreStage::kWeights) {
      store_scores<Isa>(head, out, row, key0, keys, scratch.relative_products, scores);
      continue;
    }
    modify_scores<Isa>(head, row, key0, keys, scratch.relative_products, out.stage, scores);
    exclude<Isa>(head, row, key0, keys, scores);
    exp_all<Isa>(scores, round_up(keys, kWidth<Isa>), max_or_zero<Isa>(*sums.row_max),
                 reciprocal_sum<Isa>(*sums.row_sum));
    finish_weights<Isa>(head, row, key0, keys, *sums.row_sum, scores);
    store_row<Isa>(out, row, key0, keys, scores);
  }
}

}  // namespace attn::kernels
