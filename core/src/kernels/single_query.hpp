#pragma once

// One query over many keys: each key and value is read once from memory and used once, so nothing
// is packed, and the keys are split among threads. They are split into blocks of fixed size whose
// results are merged in order, so that the bits do not depend on the number of threads.
//
// A part holds what one block of keys leaves: row_max, row_sum, value columns of unnormalised
// output, relative columns of weights per distance.

#include <array>

#include "kernels/attention.hpp"

namespace attn::kernels {

template <class Isa>
struct QueryPart {
  float* row_max;
  float* row_sum;
  float* sums;
  float* distance_sums;  ///< or null

  static index size(const AttentionHead& head) noexcept {
    return round_up(2 + AttentionScratch<Isa>::value_cols(head) +
                        (head.relative_values ? AttentionScratch<Isa>::relative_cols(head) : 0),
                    kPanelWidth);
  }
  QueryPart(const AttentionHead& head, float* memory) noexcept
      : row_max(memory),
        row_sum(memory + 1),
        sums(memory + 2),
        distance_sums(head.relative_values ? sums + AttentionScratch<Isa>::value_cols(head)
                                           : nullptr) {}
};

template <class Isa>
index part_size(const AttentionHead& head) noexcept {
  return QueryPart<Isa>::size(head);
}

/// scores_j = q · k_j for keys of unit column stride, a vector of keys at a time.
template <class Isa>
ATTN_INLINE void dot_keys(const AttentionHead& head, const float* query, index key0, index keys,
                          float* scores) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index whole = head.head_dim / kW * kW;
  for (index j = 0; j < keys; j += kW) {
    const float* rows[kW];
    F sums[kW];
    // Beyond the last key the last one is read again; its scores are not used.
    for (index i = 0; i < kW; ++i) {
      rows[i] = head.key + (key0 + std::min(j + i, keys - 1)) * head.key_row;
      sums[i] = F(0.0F);
    }
    for (index d = 0; d < whole; d += kW) {
      const F q = F::load_unaligned(query + d);
      unroll<static_cast<int>(kW)>([&](auto i) __attribute__((always_inline)) {
        sums[i] = Isa::madd(q, F::load_unaligned(rows[i] + d), sums[i]);
      });
    }
    for (index i = 0; i < kW; ++i) {
      // One by one: xsimd 13.2's haddp, which sums a whole group, is wrong for AVX-512.
      scores[j + i] = xsimd::reduce_add(sums[i]);
      for (index d = whole; d < head.head_dim; ++d) scores[j + i] += query[d] * rows[i][d];
    }
  }
}

/// The query, scaled, and its products with the Shaw table, as QueryRows of one row.
template <class Isa>
ATTN_INLINE QueryRows prepare_one(const AttentionHead& head, index row,
                                  const AttentionScratch<Isa>& scratch) noexcept {
  const QueryRows rows = scratch.rows(row, 0, 1);
  float* query = scratch.packed_queries(0);
  const float* source = head.query + row * head.query_row;
  for (index d = 0; d < head.head_dim; ++d) query[d] = head.scale * source[d * head.query_col];
  if (head.packed_relative_keys) {
    for (index c = 0; c <= 2 * head.max_distance; ++c) {
      const float* column = packed_column<Isa>(head.packed_relative_keys, head.head_dim, c);
      float sum = 0.0F;
      for (index d = 0; d < head.head_dim; ++d) sum += query[d] * column[d * kPanelWidth];
      scratch.relative_products(0)[c] = sum;
    }
  }
  return rows;
}

/// Meets one query with keys [key_begin, key_end), which start at a multiple of kKeyTile.
template <class Isa, bool SkipExcluded>
void meet_part(const AttentionHead& head, const QueryRows& query, index key_begin, index key_end,
               const AttentionScratch<Isa>& scratch, const QueryPart<Isa>& part) noexcept {
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  *part.row_max = kMinusInfinity;
  *part.row_sum = 0.0F;
  std::fill_n(part.sums, value_cols, 0.0F);
  if (part.distance_sums) {
    std::fill_n(part.distance_sums, AttentionScratch<Isa>::relative_cols(head), 0.0F);
  }
  const QueryRows rows{query.first,   1,
                       query.queries, query.relative_products,
                       part.sums,     part.row_max,
                       part.row_sum,  part.distance_sums};
  for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
    const index keys = std::min(kKeyTile, key_end - key0);
    dot_keys<Isa>(head, rows.queries, key0, keys, scratch.scores);
    meet_scores<Isa, SkipExcluded>(head, rows, key0, keys, scratch);
  }
}

template <class Isa>
void attend_part(const AttentionHead& head, index row, index key_begin, index key_end, float* part,
                 float* memory) noexcept {
  const AttentionScratch<Isa> scratch(head, memory);
  const QueryRows query = prepare_one<Isa>(head, row, scratch);
  const QueryPart<Isa> result(head, part);
  meet_part<Isa, false>(head, query, key_begin, key_end, scratch, result);
  float check = 0.0F;
  for (index c = 0; c < head.value_dim; ++c) check += result.sums[c] - result.sums[c];
  // As in attend(): excluded values that are not finite must not leak in.
  if (check != 0.0F) {
    meet_part<Isa, true>(head, query, key_begin, key_end, scratch, result);
  }
}

/// Merges the parts of a query in order, writes its results, and the stages of its scores.
template <class Isa>
void merge_parts(const AttentionHead& head, index row, const float* parts, index num_parts,
                 const ScoreOutput* outputs, int num_outputs, float* memory) noexcept {
  const AttentionScratch<Isa> scratch(head, memory);
  const QueryRows query = prepare_one<Isa>(head, row, scratch);
  const index value_cols = AttentionScratch<Isa>::value_cols(head);
  begin_rows<Isa>(head, query);
  for (index p = 0; p < num_parts; ++p) {
    const QueryPart<Isa> part(head, const_cast<float*>(parts) + p * QueryPart<Isa>::size(head));
    const float old_max = *query.row_max;
    const float new_max = std::max(old_max, *part.row_max);
    const float ours = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    const float theirs = new_max == *part.row_max ? 1.0F : exp_scalar<Isa>(*part.row_max - new_max);
    *query.row_max = new_max;
    *query.row_sum = *query.row_sum * ours + *part.row_sum * theirs;
    for (index c = 0; c < value_cols; ++c) {
      query.sums[c] = query.sums[c] * ours + part.sums[c] * theirs;
    }
    if (part.distance_sums) {
      for (index c = 0; c <= 2 * head.max_distance; ++c) {
        query.distance_sums[c] = query.distance_sums[c] * ours + part.distance_sums[c] * theirs;
      }
    }
  }
  finish_rows<Isa>(head, query);
  for (int i = 0; i < num_outputs; ++i) {
    for (index key0 = 0; key0 < head.num_keys; key0 += kKeyTile) {
      const index keys = std::min(kKeyTile, head.num_keys - key0);
      dot_keys<Isa>(head, query.queries, key0, keys, scratch.scores);
      write_row<Isa>(head, query, 0, key0, keys, outputs[i], scratch.scores);
    }
  }
}

}  // namespace attn::kernels
