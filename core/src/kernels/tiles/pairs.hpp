#pragma once

// Attention with products of bf16 pairs. Queries and keys are paired along the depth, as they are
// stored; weights and values are paired along the keys. The scale is applied after the products,
// because scaling the queries would round them once more; only its sign is folded into the queries.

#include <algorithm>
#include <cmath>

#include "kernels/attention_tile.hpp"
#include "kernels/bf16/pairs.hpp"

namespace attn::kernels {

/// How the keys and values of a tile are arranged in memory: as rows of pairs.
template <class Isa>
struct PairLayout {
  static constexpr index kQueries = kBlockQueries;
  static constexpr index kKeyStep = 16;

  /// True if the keys of the tile that begins at key0 must be copied because their layout does not
  /// suit the product.
  static ATTN_INLINE bool copies_keys(const Bf16AttentionHead& head, index) noexcept {
    return head.head_dim % 2 != 0 || head.key.row % 2 != 0;
  }

  /// Writes `keys` keys, starting at key0, as pairs along the depth.
  static ATTN_INLINE void pair_keys(const Bf16AttentionHead& head, index key0, index keys,
                                    Bf16Pair* pairs) noexcept {
    const index row = pair_depth<Isa>(head.head_dim);
    for (index j = 0; j < keys; ++j, pairs += row) {
      pair_row(head.head_dim, head.key.at(key0 + j), 1, pairs);
      std::fill(pairs + (head.head_dim + 1) / 2, pairs + row, Bf16Pair{});
    }
  }

  /// Pairs the values starting at key0. Keys for which attends(key) is false get zeros. `memory`
  /// may be overwritten.
  template <class Attends>
  static ATTN_INLINE void pair_values(const Bf16AttentionHead& head, index key0, index keys,
                                      Attends&& attends, float* /*memory*/,
                                      Bf16Pair* pairs) noexcept {
    kernels::pair_values(head, key0, keys, value_cols<Isa>(head), attends, pairs);
  }
};

/// The layout for an instruction set that multiplies quads. Keys are always copied as quads.
template <class Isa>
struct QuadLayout : PairLayout<Isa> {
  static ATTN_INLINE bool copies_keys(const Bf16AttentionHead&, index) noexcept { return true; }

  static ATTN_INLINE void pair_keys(const Bf16AttentionHead& head, index key0, index keys,
                                    Bf16Pair* pairs) noexcept {
    const index row = pair_depth<Isa>(head.head_dim);
    for (index j = 0; j < keys; ++j) {
      arrange_quads(head.head_dim, head.key.at(key0 + j), 1, quads_of_row(pairs, j, row));
    }
  }
};

template <class I, class Layout = PairLayout<I>>
struct PairTiles {
  using Isa = I;
  using Element = Bf16Pair;
  using Head = Bf16AttentionHead;
  static constexpr index kQueries = Layout::kQueries;
  static constexpr index kKeyStep = Layout::kKeyStep;

  /// Number of rows of pairs for this many keys.
  static constexpr index pair_rows(index keys) noexcept { return (keys + 1) / 2; }

  struct Scratch : BlockScratch<Isa, Bf16Pair, kQueries> {
    using Base = BlockScratch<Isa, Bf16Pair, kQueries>;
    Scratch(const Head& head, float* shared, float* own) noexcept
        : Base(head, pair_depth<Isa>(head.head_dim), shared, own) {
      total_weight = Base::take(own, 1);
      const index value_size = pair_rows(Isa::kTileKeys) * value_cols<Isa>(head);
      value_pairs = reinterpret_cast<Bf16Pair*>(shared);
      attended_pairs = value_pairs + value_size;
      key_pairs = attended_pairs + value_size;
      this->row_memory = shared + tile_pairs(head);
    }
    static index own_size(const AttentionHead& head) noexcept {
      return Base::own_size(head, pair_depth<Isa>(head.head_dim)) + kQueries;
    }
    static index shared_size(const AttentionHead& head) noexcept {
      return Base::shared_size(head) + tile_pairs(head);
    }
    /// Number of pairs that a tile needs: for its keys, for its values, and for a copy of the
    /// values in which excluded keys are zero.
    static index tile_pairs(const AttentionHead& head) noexcept {
      return 2 * pair_rows(Isa::kTileKeys) * value_cols<Isa>(head) +
             Isa::kTileKeys * pair_depth<Isa>(head.head_dim);
    }

    Bf16Pair* value_pairs;     ///< pairs of keys × value columns
    Bf16Pair* attended_pairs;  ///< copy of value_pairs with zeros for keys that a query may not
                               ///< attend to
    Bf16Pair* key_pairs;  ///< copied keys (keys × pairs of depth), if the keys cannot be read in
                          ///< place
    float* total_weight;  ///< for each query, the sum of its weights after they are rounded to
                          ///< bf16
  };

  static void load_queries(const Head& head, const QueryBlock& block,
                           const Scratch& scratch) noexcept {
    pair_queries<Isa>(block.count, block.lanes, head.head_dim, head.query.at(block.first),
                      head.query.row, head.query.col, head.scale < 0, scratch.queries, kQueries);
    std::fill(scratch.queries + (head.head_dim + 1) / 2 * kQueries,
              scratch.queries + pair_depth<Isa>(head.head_dim) * kQueries, Bf16Pair{});
  }

  static ATTN_INLINE void begin(const Head& head, const QueryBlock& block, float sum,
                                const Scratch& scratch) noexcept {
    std::fill_n(scratch.total_weight, block.lanes, sum);
    std::fill_n(scratch.accumulator, block.count * value_cols<Isa>(head), 0.0F);
  }

  static ATTN_INLINE void prepare_tile(const Head& head, index key0,
                                       const Scratch& scratch) noexcept {
    const index keys = std::min(Isa::kTileKeys, head.num_keys - key0);
    Layout::pair_values(
        head, key0, keys, [](index) { return true; }, scratch.row_memory, scratch.value_pairs);
    if (Layout::copies_keys(head, key0)) {
      Layout::pair_keys(head, key0, keys, scratch.key_pairs);
    }
  }

  static ATTN_INLINE void score_tile(const Head& head, const QueryBlock& block, index key0,
                                     index keys, const Scratch& scratch) noexcept {
    multiply_keys<Isa>(block.lanes, keys, pair_depth<Isa>(head.head_dim),
                       find_keys(head, key0, scratch), scratch);
  }

  static ATTN_INLINE float score_factor(const Head& head) noexcept { return std::abs(head.scale); }
  static ATTN_INLINE float row_factor(const Head&) noexcept { return kLog2E; }

  static ATTN_INLINE void softmax(const Head& head, const QueryBlock& block, index, index keys,
                                  const Scratch& scratch) noexcept {
    // If scores are not plain, modify_tile has already multiplied them by both factors.
    const float to_log2 = has_plain_scores(head) ? score_factor(head) * row_factor(head) : 1.0F;
    for_columns<Isa, Isa::kSoftmaxVectors>(block.lanes, [&](index col, auto vectors) ATTN_INLINED {
      Floats<Isa> max[vectors], shift[vectors], factor[vectors], sum[vectors], weight[vectors];
      find_maxima<Isa, vectors>(keys, scratch.tile + col, kQueries, max);
      unroll<vectors>([&](auto v) ATTN_INLINED { max[v] *= Floats<Isa>(to_log2); });
      raise_maxima<Isa, vectors>(max, col, scratch, shift, factor);
      exponentiate_pairs<Isa, vectors>(keys, to_log2, scratch.tile + col, kQueries, shift, sum,
                                       weight);
      add_sums<Isa, vectors>(factor, sum, scratch.sum + col);
      add_sums<Isa, vectors>(factor, weight, scratch.total_weight + col);
    });
  }

  static ATTN_INLINE Strided<const Bf16Pair> all_values(const Head& head, index key0,
                                                        const Scratch& scratch) noexcept {
    const index row = value_cols<Isa>(head);
    return {scratch.value_pairs + key0 % Isa::kTileKeys / 2 * row, row};
  }
  static ATTN_INLINE Strided<const Bf16Pair> attended_values(const Head& head, index row,
                                                             index key0, index keys,
                                                             const Scratch& scratch) noexcept {
    Layout::pair_values(
        head, key0, keys, [&](index key) { return is_attended<Isa>(head, row, key); },
        scratch.row_memory, scratch.attended_pairs);
    return {scratch.attended_pairs, value_cols<Isa>(head)};
  }

  static ATTN_INLINE void add_values(const Head& head, index begin, index end, index keys,
                                     Strided<const Bf16Pair> value,
                                     const Scratch& scratch) noexcept {
    multiply_values<Isa>(begin, end, pair_rows(keys), value_cols<Isa>(head), value, scratch);
  }

  static ATTN_INLINE void finish(const Head&, const QueryBlock&, const Scratch&) noexcept {}
  static ATTN_INLINE const float* finish_accumulator(const AttentionHead& head, index r,
                                                     const Scratch& scratch) noexcept {
    return scratch.accumulator + r * value_cols<Isa>(head);
  }
  /// Outputs are divided by the sum of the rounded weights; see exponentiate_pairs.
  static ATTN_INLINE float total_weight(index r, const Scratch& scratch) noexcept {
    return scratch.total_weight[r];
  }

  /// Computes attention for query `row` alone, in float32.
  __attribute__((noinline)) static void attend_row(const Head& head, index row, const ScoreOutput*,
                                                   int, float* memory) noexcept {
    using Float = FloatIsa<Isa>;
    const RowScratch<Float> scratch(head, memory);
    for (index d = 0; d < head.head_dim; ++d) {
      scratch.query[d] = head.scale * widen(head.query(row, d));
    }
    AttentionHead stored = head;
    stored.stored_key = {ElementType::kBFloat16, head.key.data, head.key.row, nullptr, 0};
    stored.stored_value = {ElementType::kBFloat16, head.value.data, head.value.row, nullptr, 0};
    begin_row<Float>(stored, head.sink, scratch.sums);
    add_keys<Float>(stored, row, head.key_begin[row] / kRowBlockKeys * kRowBlockKeys,
                    head.key_end[row], true, scratch, scratch.sums);
    finish_row<Float>(stored, row, scratch.sums);
  }

  /// Writes nothing, because calls with bf16 products request no stages of the scores.
  static ATTN_INLINE void write_scores(const Head&, const QueryBlock&, const ScoreOutput*, int,
                                       const Scratch&) noexcept {}

 protected:
  /// Returns the keys starting at key0, which are all in one tile.
  static ATTN_INLINE Strided<const Bf16Pair> find_keys(const Head& head, index key0,
                                                       const Scratch& scratch) noexcept {
    const index row = pair_depth<Isa>(head.head_dim);
    const index in_tile = key0 % Isa::kTileKeys;
    if (Layout::copies_keys(head, key0 - in_tile)) return {scratch.key_pairs + in_tile * row, row};
    return {reinterpret_cast<const Bf16Pair*>(head.key.at(key0)), head.key.row / 2};
  }
};

}  // namespace attn::kernels
