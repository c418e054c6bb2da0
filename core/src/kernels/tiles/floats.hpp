#pragma once

// Attention with products of floats. Keys and values are read in place. attention_tile.hpp lists
// where scores are scaled.

#include <algorithm>

#include "kernels/attention_block.hpp"

namespace attn::kernels {

template <class I>
struct FloatTiles {
  using Isa = I;
  using Element = float;
  using Head = AttentionHead;
  static constexpr index kQueries = kBlockQueries;
  static constexpr index kKeyStep = 16;

  struct Scratch : BlockScratch<Isa, float, kQueries> {
    using Base = BlockScratch<Isa, float, kQueries>;
    Scratch(const Head& head, float* shared, float* own) noexcept
        : Base(head, head.head_dim, shared, own) {}
    static index own_size(const AttentionHead& head) noexcept {
      return Base::own_size(head, head.head_dim);
    }
  };

  static void load_queries(const Head& head, const QueryBlock& block,
                           const Scratch& scratch) noexcept {
    const float to_log2 = has_plain_scores(head) ? kLog2E : 1.0F;
    transpose_queries(head, block, head.scale * to_log2, scratch);
    if (head.packed_relative_keys) multiply_relative_keys(head, block, scratch);
  }

  static ATTN_INLINE void begin(const Head& head, const QueryBlock& block, float,
                                const Scratch& scratch) noexcept {
    std::fill_n(scratch.accumulator, block.count * value_cols<Isa>(head), 0.0F);
    if (scratch.distance_weights) {
      std::fill_n(scratch.distance_weights, block.count * relative_cols<Isa>(head), 0.0F);
    }
  }

  static ATTN_INLINE void prepare_tile(const Head&, index, const Scratch&) noexcept {}

  static ATTN_INLINE void score_tile(const Head& head, const QueryBlock& block, index key0,
                                     index keys, const Scratch& scratch) noexcept {
    multiply_keys<Isa>(block.lanes, keys, head.head_dim, head.key.rows_from(key0), scratch);
  }

  static ATTN_INLINE float score_factor(const Head&) noexcept { return 1.0F; }
  static ATTN_INLINE float row_factor(const Head& head) noexcept {
    return has_plain_scores(head) ? 1.0F : kLog2E;
  }

  static ATTN_INLINE void softmax(const Head& head, const QueryBlock& block, index key0, index keys,
                                  const Scratch& scratch) noexcept {
    for_columns<Isa, Isa::kSoftmaxVectors>(block.lanes, [&](index col, auto vectors) ATTN_INLINED {
      Floats<Isa> max[vectors], shift[vectors], factor[vectors], sum[vectors];
      find_maxima<Isa, vectors>(keys, scratch.tile + col, kQueries, max);
      raise_maxima<Isa, vectors>(max, col, scratch, shift, factor);
      exponentiate<Isa, vectors>(keys, scratch.tile + col, kQueries, shift, sum);
      add_sums<Isa, vectors>(factor, sum, scratch.sum + col);
    });
    if (head.random_words || scratch.distance_weights) {
      modify_weights(head, block, key0, keys, scratch);
    }
  }

  static ATTN_INLINE Strided<const float> all_values(const Head& head, index key0,
                                                     const Scratch&) noexcept {
    return head.value.rows_from(key0);
  }
  static ATTN_INLINE Strided<const float> attended_values(const Head& head, index row, index key0,
                                                          index keys,
                                                          const Scratch& scratch) noexcept {
    const RowScratch<Isa> row_scratch(head, scratch.row_memory);
    copy_attended<Isa>(head, row, key0, keys, row_scratch.widened);
    return {row_scratch.widened, value_cols<Isa>(head)};
  }

  static ATTN_INLINE void add_values(const Head& head, index begin, index end, index keys,
                                     Strided<const float> value, const Scratch& scratch) noexcept {
    multiply_values<Isa>(begin, end, keys, value_cols<Isa>(head), value, scratch);
  }

  static ATTN_INLINE void finish(const Head&, const QueryBlock&, const Scratch&) noexcept {}
  static ATTN_INLINE const float* finish_accumulator(const Head& head, index r,
                                                     const Scratch& scratch) noexcept {
    float* accumulator = scratch.accumulator + r * value_cols<Isa>(head);
    if (scratch.distance_weights) {
      add_relative_values<Isa>(head, scratch.distance_weights + r * relative_cols<Isa>(head),
                               accumulator);
    }
    return accumulator;
  }
  static ATTN_INLINE float total_weight(index r, const Scratch& scratch) noexcept {
    return scratch.sum[r];
  }

  __attribute__((noinline)) static void attend_row(const Head& head, index row,
                                                   const ScoreOutput* outputs, int num_outputs,
                                                   float* memory) noexcept {
    const RowScratch<Isa> scratch(head, memory);
    prepare_row<Isa>(head, row, scratch);
    begin_row<Isa>(head, head.sink, scratch.sums);
    add_keys<Isa>(head, row, head.key_begin[row] / kRowBlockKeys * kRowBlockKeys, head.key_end[row],
                  true, scratch, scratch.sums);
    finish_row<Isa>(head, row, scratch.sums);
    for (int i = 0; i < num_outputs; ++i) {
      if (outputs[i].stage == ScoreStage::kWeights) {
        write_row<Isa>(head, row, outputs[i], scratch, scratch.sums);
      }
    }
  }

  static ATTN_INLINE void write_scores(const Head& head, const QueryBlock& block,
                                       const ScoreOutput* outputs, int num_outputs,
                                       const Scratch& scratch) noexcept {
    for (int i = 0; i < num_outputs; ++i) write_stage(head, block, outputs[i], scratch);
  }

 private:
  static void transpose_queries(const Head& head, const QueryBlock& block, float scale,
                                const Scratch& scratch) noexcept {
    transpose<Isa>(block.count, head.head_dim, head.query.rows_from(block.first), scale,
                   {scratch.queries, kQueries});
    if (block.count == block.lanes) return;
    for (index d = 0; d < head.head_dim; ++d) {
      std::fill(scratch.queries + d * kQueries + block.count,
                scratch.queries + d * kQueries + block.lanes, 0.0F);
    }
  }

  /// relative_products_rc = q_r · a^K_c, where a^K is the Shaw table.
  static ATTN_INLINE void multiply_relative_keys(const Head& head, const QueryBlock& block,
                                                 const Scratch& scratch) noexcept {
    constexpr int kVectors = Isa::kVectors;
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
        product_rows<Isa, Isa::kValueRows, kVectors, TileFinish::kStore, 1, kQueries,
                     kPackedColumns<Isa, kVectors>>(
            std::min<index>(Isa::kValueRows, block.count - r), head.head_dim, scratch.queries + r,
            0, b, kPanelWidth, scratch.relative_products + r * relative_cols<Isa>(head) + col,
            relative_cols<Isa>(head));
      }
    }
  }

  /// Applies the steps for which the exponentials of a query must be contiguous: dropout and sums
  /// per distance.
  __attribute__((noinline)) static void modify_weights(const Head& head, const QueryBlock& block,
                                                       index key0, index keys,
                                                       const Scratch& scratch) noexcept {
    transpose_tile(block, keys, scratch);
    for (index r = 0; r < block.count; ++r) {
      float* weights = scratch.rows + r * Scratch::kScoreRow;
      if (head.random_words) drop_weights<Isa>(head, block.first + r, key0, keys, weights);
      if (scratch.distance_weights) {
        float* distance_weights = scratch.distance_weights + r * relative_cols<Isa>(head);
        if (scratch.factor[r] != 1.0F) {
          for (index c = 0; c <= 2 * head.max_distance; ++c) {
            distance_weights[c] *= scratch.factor[r];
          }
        }
        sum_by_distance<Isa>(head, block.first + r, key0, keys, weights, distance_weights);
      }
    }
    transpose<Isa>(block.count, keys, {scratch.rows, Scratch::kScoreRow}, 1.0F,
                   {scratch.tile, kQueries});
  }

  /// Turns the scores of a tile into the final weights of a finished block.
  static ATTN_INLINE void normalize(const QueryBlock& block, index keys,
                                    const Scratch& scratch) noexcept {
    using F = Floats<Isa>;
    for (index i = 0; i < block.lanes; i += kWidth<Isa>) {
      const F max[1] = {max_or_zero<Isa>(F::load_unaligned(scratch.max + i))};
      F sum[1];
      exponentiate<Isa, 1>(keys, scratch.tile + i, kQueries, max, sum);
      const F sums = F::load_unaligned(scratch.sum + i);
      const F factor = xsimd::select(sums == F(0.0F), F(0.0F), divide<Isa>(F(1.0F), sums));
      for (index j = 0; j < keys; ++j) {
        float* weights = scratch.tile + j * kQueries + i;
        (F::load_unaligned(weights) * factor).store_unaligned(weights);
      }
    }
  }

  /// Adds up the weights of each key in a tile, and adds the sums to `out`. The weights are in
  /// scratch.rows. Skips queries that are not `in_tiles`, because attend_row adds their weights.
  static ATTN_INLINE void add_weights(const QueryBlock& block, const bool* in_tiles, index key0,
                                      index keys, const ScoreOutput& out,
                                      const Scratch& scratch) noexcept {
    using F = Floats<Isa>;
    for (index j = 0; j < keys; j += kWidth<Isa>) {
      F sum(0.0F);
      for (index r = 0; r < block.count; ++r) {
        if (in_tiles[r]) sum += F::load_unaligned(scratch.rows + r * Scratch::kScoreRow + j);
      }
      sum.store_unaligned(scratch.rows + j);
    }
    store_row<Isa>(out, 0, key0, keys, scratch.rows);
  }

  /// Writes the scores of a finished block at the stage `out.stage`. This function computes the
  /// scores a second time, so calls that do not request a stage spend no time on it.
  __attribute__((noinline)) static void write_stage(const Head& head, const QueryBlock& block,
                                                    const ScoreOutput& out,
                                                    const Scratch& scratch) noexcept {
    const bool weights = out.stage == ScoreStage::kWeights;
    const bool in_log2 = weights && has_plain_scores(head);
    transpose_queries(head, block, in_log2 ? head.scale * kLog2E : head.scale, scratch);
    bool in_tiles[kQueries] = {};
    for (index r = 0; out.adds && r < block.count; ++r) {
      in_tiles[r] = has_exponent(head, block, r, scratch);
    }
    for (index key0 = 0; key0 < head.num_keys; key0 += Isa::kTileKeys) {
      const index keys = std::min(Isa::kTileKeys, head.num_keys - key0);
      const Coverage coverage = find_coverage<Isa>(head, block.first, block.count, key0, keys);
      if (out.stage >= ScoreStage::kBiased && coverage == Coverage::kNone) {
        for (index r = 0; !out.adds && r < block.count; ++r) {
          store_excluded<Isa>(out, block.first + r, key0, keys, scratch.rows);
        }
        continue;
      }
      score_tile(head, block, key0, keys, scratch);
      if (weights) {
        modify_tile<FloatTiles>(head, block, {key0, keys, coverage}, scratch);
        normalize(block, keys, scratch);
      }
      transpose_tile(block, keys, scratch);
      for (index r = 0; r < block.count; ++r) {
        float* scores = scratch.rows + r * Scratch::kScoreRow;
        if (!weights) {
          store_scores<Isa>(head, out, block.first + r, key0, keys,
                            relative_products_of(head, r, scratch), scores);
          continue;
        }
        finish_weights<Isa>(head, block.first + r, key0, keys, scratch.sum[r], scores);
        if (!out.adds) store_row<Isa>(out, block.first + r, key0, keys, scores);
      }
      if (out.adds) add_weights(block, in_tiles, key0, keys, out, scratch);
    }
  }
};

}  // namespace attn::kernels
