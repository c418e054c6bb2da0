#pragma once

// The start and end of a block of queries. Before the first tile of keys, queries are transposed
// and running sums are initialised. After the last tile, outputs, log-sum-exp and requested stages
// are written. Queries that tiles cannot handle are recomputed. These are queries with NaN or
// infinity in their output, and queries whose scores are too large.

#include <algorithm>
#include <cmath>

#include "kernels/attention_tile.hpp"

namespace attn::kernels {

/// Transposes and scales the queries.
template <class Isa>
void load_queries(const TileHead<Isa>& head, const QueryBlock& block, float scale,
                  TileElement<Isa>* queries) noexcept {
  if constexpr (kPairs<Isa>) {
    pair_queries<Isa>(block.count, block.lanes, head.head_dim,
                      head.query + block.first * head.query_row, head.query_row, head.query_col,
                      scale < 0, queries, kQueries<Isa>);
    std::fill(queries + (head.head_dim + 1) / 2 * kQueries<Isa>,
              queries + element_depth<Isa>(head.head_dim) * kQueries<Isa>, Bf16Pair{});
  } else {
    transpose<Isa>(block.count, head.head_dim, head.query + block.first * head.query_row,
                   head.query_row, head.query_col, scale, queries, kQueries<Isa>);
    if (block.count == block.lanes) return;
    for (index d = 0; d < head.head_dim; ++d) {
      std::fill(queries + d * kQueries<Isa> + block.count,
                queries + d * kQueries<Isa> + block.lanes, 0.0F);
    }
  }
}

/// Maximum and sum of a query before its first key, when only the sink counts.
struct SoftmaxStart {
  float max;
  float sum;
};

template <class Isa>
ATTN_INLINE SoftmaxStart start_from_sink(const AttentionHead& head) noexcept {
  if (head.sink == kMinusInfinity) return {kMinusInfinity, 0.0F};
  const double sink = head.sink * 1.4426950408889634;
  const double max = std::nearbyint(sink);
  return {static_cast<float>(max), static_cast<float>(exp2_near_zero<Isa>(sink - max))};
}

/// Starts queries [first, first + count).
template <class Isa>
QueryBlock begin_block(const TileHead<Isa>& head, index first, index count,
                       const BlockScratch<Isa>& scratch) noexcept {
  QueryBlock block{first, count, round_up(count, kLanes<Isa>)};
  if constexpr (kPairs<Isa>) {
    load_queries<Isa>(head, block, head.scale, scratch.queries);
  } else if (head.packed_relative_keys) {
    constexpr int kVectors = Isa::kVectors;
    load_queries<Isa>(head, block, head.scale, scratch.queries);
    const index columns = 2 * head.max_distance + 1;
    for (index col = 0; col < columns; col += kVectors * kWidth<Isa>) {
      const float* b[kVectors];
      // Vectors beyond the last column are never used. They read the first panel, so that no read
      // leaves the packed memory.
      unroll<kVectors>([&](auto v) ATTN_INLINED {
        const index c = col + v * kWidth<Isa>;
        b[v] = packed_column<Isa>(head.packed_relative_keys, head.head_dim, c < columns ? c : 0);
      });
      for (index r = 0; r < block.count; r += Isa::kValueRows) {
        product_rows<Isa, Isa::kValueRows, kVectors, TileFinish::kStore, 1, kQueries<Isa>,
                     kPackedColumns<Isa, kVectors>>(
            std::min<index>(Isa::kValueRows, block.count - r), head.head_dim, scratch.queries + r,
            0, b, kPanelWidth, scratch.relative_products + r * relative_cols<Isa>(head) + col,
            relative_cols<Isa>(head));
      }
    }
  } else {
    const float unit = BlockScratch<Isa>::scores_in_log2(head) ? kLog2E : 1.0F;
    load_queries<Isa>(head, block, head.scale * unit, scratch.queries);
  }
  const SoftmaxStart sink = start_from_sink<Isa>(head);
  for (index r = 0; r < block.lanes; ++r) {
    const bool real = r < block.count;
    scratch.max[r] = sink.max;
    scratch.sum[r] = sink.sum;
    if constexpr (kPairs<Isa>) scratch.total_weight[r] = sink.sum;
    scratch.key_begin[r] = real ? head.key_begin[block.first + r] : 0;
    scratch.key_end[r] = real ? head.key_end[block.first + r] : 0;
  }
  std::fill_n(scratch.values, (kTiles<Isa> ? kQueries<Isa> : block.count) * value_cols<Isa>(head),
              0.0F);
  if (scratch.distances) {
    std::fill_n(scratch.distances, block.count * relative_cols<Isa>(head), 0.0F);
  }
  index key_begin = head.num_keys;
  for (index r = 0; r < count; ++r) {
    if (scratch.key_begin[r] >= scratch.key_end[r]) continue;
    key_begin = std::min<index>(key_begin, scratch.key_begin[r]);
    block.key_end = std::max<index>(block.key_end, scratch.key_end[r]);
  }
  block.key_begin = key_begin / kKeyStep<Isa> * kKeyStep<Isa>;
  return block;
}

/// True if query r has no score, or if subtracting its largest score changes only exponents. The
/// largest score may be −∞ even if the query attends to keys: some masks exclude with a number near
/// the lowest float, and scores are converted to units of ln 2, in which such a number overflows.
template <class Isa>
ATTN_INLINE bool has_exponent(const AttentionHead& head, const QueryBlock& block, index r,
                              const BlockScratch<Isa>& scratch) noexcept {
  if (scratch.max[r] != kMinusInfinity) return std::abs(scratch.max[r]) < kLargestExponent;
  for (index key = scratch.key_begin[r]; key < scratch.key_end[r]; ++key) {
    if (is_attended<Isa>(head, block.first + r, key)) return false;
  }
  return true;
}

template <class Isa>
float compute_log_sum_exp(const AttentionHead& head, float max, float sum) noexcept {
  const SoftmaxStart sink = start_from_sink<Isa>(head);
  if (max == sink.max && sum == sink.sum) return head.sink;  // no key has changed it
  return static_cast<float>(max * 0.6931471805599453 + natural_log<Isa>(sum));
}

/// Transposes the values of a block into rows, for finish_query.
template <class Isa>
ATTN_INLINE void transpose_values(const AttentionHead& head, const QueryBlock& block,
                                  const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kTiles<Isa>) {
    const index cols = value_cols<Isa>(head);
    transpose<Isa>(cols, block.lanes, scratch.values, kQueries<Isa>, 1, 1.0F, scratch.outputs,
                   cols);
  }
}

/// Writes output and log-sum-exp of query r of a block. Returns true if all numbers are finite.
template <class Isa>
bool finish_query(const AttentionHead& head, const QueryBlock& block, index r,
                  const BlockScratch<Isa>& scratch) noexcept {
  const index row = block.first + r;
  const float sum = scratch.sum[r];
  float* values = (kTiles<Isa> ? scratch.outputs : scratch.values) + r * value_cols<Isa>(head);
  if (scratch.distances) {
    add_relative_values<Isa>(head, scratch.distances + r * relative_cols<Isa>(head), values);
  }
  if (head.log_sum_exp) {
    head.log_sum_exp[row * head.log_sum_exp_row] =
        compute_log_sum_exp<Isa>(head, scratch.max[r], sum);
  }
  const float total = kPairs<Isa> ? scratch.total_weight[r] : sum;
  return write_output<Isa>(head, row, values, reciprocal_sum<Isa>(total));
}

/// Writes the scores of a finished block at the stage `out.stage`. Recomputes the scores, so that
/// only calls that request the N × N numbers pay for them.
template <class Isa>
void write_block(const AttentionHead& head, const QueryBlock& block, const ScoreOutput& out,
                 const BlockScratch<Isa>& scratch) noexcept {
  const bool weights = out.stage == ScoreStage::kWeights;
  const bool in_log2 = weights && BlockScratch<Isa>::scores_in_log2(head);
  load_queries<Isa>(head, block, in_log2 ? head.scale * kLog2E : head.scale, scratch.queries);
  for (index key0 = 0; key0 < head.num_keys; key0 += Isa::kTileKeys) {
    const index keys = std::min(Isa::kTileKeys, head.num_keys - key0);
    if (weights) {
      fill_tile<Isa>(head, block, key0, keys, scratch);
      for (index i = 0; i < block.lanes; i += kWidth<Isa>) {
        using F = Floats<Isa>;
        const F max[1] = {shift_of<Isa>(F::load_unaligned(scratch.max + i))};
        F sum[1];
        exponentiate<Isa, 1>(keys, scratch.tile + i, max, sum);
        const F sums = F::load_unaligned(scratch.sum + i);
        const F factor = xsimd::select(sums == F(0.0F), F(0.0F), divide<Isa>(F(1.0F), sums));
        for (index j = 0; j < keys; ++j) {
          float* weights = scratch.tile + j * kQueries<Isa> + i;
          (F::load_unaligned(weights) * factor).store_unaligned(weights);
        }
      }
    } else {
      score_tile<Isa>(head, block, key0, keys, scratch);
    }
    transpose_tile<Isa>(block, keys, scratch);
    for (index r = 0; r < block.count; ++r) {
      float* scores = scratch.rows + r * BlockScratch<Isa>::kScoreRow;
      if (weights) {
        store_weights<Isa>(head, out, block.first + r, key0, keys, scratch.sum[r], scores);
      } else {
        store_scores<Isa>(head, out, block.first + r, key0, keys,
                          relative_products_of<Isa>(head, r, scratch), scores);
      }
    }
  }
}

/// Computes attention for query `row` alone, in float32.
template <class Isa>
void attend_widened_row(const Bf16AttentionHead& head, index row, float* memory) noexcept {
  const RowScratch<Isa> scratch(head, memory);
  for (index d = 0; d < head.head_dim; ++d) {
    scratch.query[d] = head.scale * widen(head.query[row * head.query_row + d * head.query_col]);
  }
  AttentionHead stored = head;
  stored.stored_key = {ElementType::kBFloat16, head.key, head.key_row, nullptr, 0};
  stored.stored_value = {ElementType::kBFloat16, head.value, head.value_row, nullptr, 0};
  begin_row<Isa>(stored, head.sink, scratch.sums);
  add_keys<Isa>(stored, row, head.key_begin[row] / kKeyTile * kKeyTile, head.key_end[row], true,
                scratch, scratch.sums);
  finish_row<Isa>(stored, row, scratch.sums);
}

/// Computes attention for query `row` alone.
template <class Isa>
void attend_row(const TileHead<Isa>& head, index row, const ScoreOutput* outputs, int num_outputs,
                float* memory) noexcept {
  if constexpr (kPairs<Isa>) {
    attend_widened_row<FloatIsa<Isa>>(head, row, memory);
  } else {
    const RowScratch<Isa> scratch(head, memory);
    prepare_row<Isa>(head, row, scratch);
    begin_row<Isa>(head, head.sink, scratch.sums);
    add_keys<Isa>(head, row, head.key_begin[row] / kKeyTile * kKeyTile, head.key_end[row], true,
                  scratch, scratch.sums);
    finish_row<Isa>(head, row, scratch.sums);
    for (int i = 0; i < num_outputs; ++i) {
      if (outputs[i].stage == ScoreStage::kWeights) {
        write_row<Isa>(head, row, outputs[i], scratch, scratch.sums);
      }
    }
  }
}

/// Recomputes the chosen queries of [first, first + count), because their outputs are not finite: a
/// weight of zero may have been multiplied by an excluded infinity or NaN.
template <class Isa>
QueryBlock attend_again(const TileHead<Isa>& head, index first, index count, const bool* chosen,
                        const BlockScratch<Isa>& scratch) noexcept {
  const QueryBlock block = begin_block<Isa>(head, first, count, scratch);
  for (index key0 = block.key_begin / Isa::kTileKeys * Isa::kTileKeys; key0 < block.key_end;
       key0 += Isa::kTileKeys) {
    prepare_tile<Isa>(head, key0, scratch);
    attend_tile<Isa>(head, block, key0, key0 + Isa::kTileKeys, chosen, scratch);
  }
  transpose_values<Isa>(head, block, scratch);
  for (index r = 0; r < count; ++r) {
    if (chosen[r]) finish_query<Isa>(head, block, r, scratch);
  }
  return block;
}

/// Writes the requested stages of a block whose outputs are already written. Processes queries row
/// by row if their scores do not suit tiles.
template <class Isa>
void finish_scores(const TileHead<Isa>& head, const QueryBlock& block, const ScoreOutput* outputs,
                   int num_outputs, const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (!kPairs<Isa>) {
    for (int i = 0; i < num_outputs; ++i) write_block<Isa>(head, block, outputs[i], scratch);
  }
  for (index r = 0; r < block.count; ++r) {
    if (!has_exponent<Isa>(head, block, r, scratch)) {
      attend_row<Isa>(head, block.first + r, outputs, num_outputs, scratch.row_memory);
    }
  }
}

/// Writes all requested results of a block that has processed all of its keys.
template <class Isa>
void finish_block(const TileHead<Isa>& head, const QueryBlock& block, const ScoreOutput* outputs,
                  int num_outputs, const BlockScratch<Isa>& scratch) noexcept {
  bool again[kQueries<Isa>];
  bool any_again = false;
  transpose_values<Isa>(head, block, scratch);
  for (index r = 0; r < block.count; ++r) {
    again[r] = !finish_query<Isa>(head, block, r, scratch);
    any_again |= again[r];
  }
  if (any_again) attend_again<Isa>(head, block.first, block.count, again, scratch);
  finish_scores<Isa>(head, block, outputs, num_outputs, scratch);
}

}  // namespace attn::kernels
