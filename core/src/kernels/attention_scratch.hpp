#pragma once

// The memory that a block of queries uses while it processes the keys.

#include "kernels/attention_row.hpp"

namespace attn::kernels {

/// Number of queries in a block, except with tile hardware.
inline constexpr index kBlockQueries = 48;
/// Number of blocks that process the keys together, so that each tile of keys and values is fetched
/// once for all of them. On Zen 5, two blocks are 8 % slower and eight are no faster.
inline constexpr index kPassBlocks = 4;

/// If the absolute value of a query's maximum is below this limit, subtracting the maximum changes
/// only exponents. Other queries are computed row by row.
inline constexpr float kLargestExponent = 0x1p22F;

/// Queries [first, first + count) of a head.
struct QueryBlock {
  index first;
  index count;
  index lanes;  ///< `count` rounded up to whole vectors or tiles
  /// The keys that any of the queries may attend to; empty if there are none.
  index key_begin = 0;
  index key_end = 0;
};

/// True if scores are plain products of queries and keys, without softcap, bias or relative keys.
/// log2 e can then be folded into the scale, and no step has to work on rows of scores.
ATTN_INLINE bool has_plain_scores(const AttentionHead& head) noexcept {
  return !(head.softcap > 0 || head.bias || head.distance_bias || head.packed_relative_keys);
}

/// The scratch memory of one block of queries, for every kind of tile. The blocks of a pass share
/// part of it. Each kind of tile derives its own scratch class from this class and adds memory.
template <class I, class Element, index Queries>
struct BlockScratch {
  using Isa = I;
  static constexpr index kQueries = Queries;
  /// Row stride of a tile that is transposed back to (queries × keys).
  static constexpr index kScoreRow = Isa::kTileKeys + kPanelWidth;

  /// Number of floats that each block needs for itself, with `depth` elements per query.
  static index own_size(const AttentionHead& head, index depth) noexcept {
    const index relative = (head.packed_relative_keys ? relative_cols<Isa>(head) : 0) +
                           (head.relative_values ? relative_cols<Isa>(head) : 0);
    return kQueries * (depth + value_cols<Isa>(head) + 2 + relative);
  }
  /// Number of floats that the blocks of a pass share.
  static index shared_size(const AttentionHead& head) noexcept {
    return kQueries * (Isa::kTileKeys + 1 + kScoreRow) + RowScratch<FloatIsa<Isa>>::size(head);
  }

  /// Takes memory from the beginning of `shared` and `own`, and advances both.
  BlockScratch(const AttentionHead& head, index depth, float*& shared, float*& own) noexcept {
    tile = take(shared, Isa::kTileKeys);
    factor = take(shared, 1);
    rows = take(shared, kScoreRow);
    row_memory = shared;
    queries = reinterpret_cast<Element*>(take(own, depth));
    accumulator = take(own, value_cols<Isa>(head));
    max = take(own, 1);
    sum = take(own, 1);
    if (head.packed_relative_keys) relative_products = take(own, relative_cols<Isa>(head));
    if (head.relative_values) distance_weights = take(own, relative_cols<Isa>(head));
  }

  float* tile;         ///< Isa::kTileKeys × kQueries: scores, then weights, as floats or pairs
  Element* queries;    ///< depth × kQueries
  float* accumulator;  ///< unnormalised outputs (kQueries × value columns), which are transposed
                       ///< with tile hardware
  float* max;          ///< for each query, an integer near the largest score so far, or −∞
  float* sum;          ///< per query
  float* factor;       ///< for each query, the factor that rescales its sums
  float* rows;         ///< kQueries × kScoreRow
  float* relative_products = nullptr;  ///< kQueries × relative columns
  float* distance_weights = nullptr;   ///< kQueries × relative columns: sums of weights for each
                                       ///< clipped distance
  float* row_memory;                   ///< memory of a RowScratch

 protected:
  static float* take(float*& memory, index count) noexcept {
    float* result = memory;
    memory += kQueries * count;
    return result;
  }
};

template <class Tiles>
index attention_scratch(const AttentionHead& head) noexcept {
  using Scratch = typename Tiles::Scratch;
  return Scratch::shared_size(head) + kPassBlocks * Scratch::own_size(head);
}

}  // namespace attn::kernels
