#pragma once

// The memory that a block of queries uses while it processes the keys.

#include <cstdint>
#include <type_traits>

#include "kernels/attention_row.hpp"
#include "kernels/bf16/pairs.hpp"

namespace attn::kernels {

/// Number of queries in a block.
inline constexpr index kBlockQueries = 48;
/// Number of queries in a block for an instruction set. Tile hardware processes groups of two by
/// two tiles.
template <class Isa>
inline constexpr index kQueries = kTiles<Isa> ? 4 * kTileEdge : kBlockQueries;
/// Number of blocks that process the keys together, so that each tile of keys and values is fetched
/// once for all of them. On Zen 5, two blocks are 8 % slower and eight are no faster.
inline constexpr index kPassBlocks = 4;
/// Every tile of keys starts at a multiple of this number, counted from key 0.
template <class Isa>
inline constexpr index kKeyStep = kTiles<Isa> ? 2 * kTileEdge : 16;

/// If the absolute value of a query's maximum is below this limit, subtracting the maximum changes
/// only exponents. Other queries are computed row by row.
inline constexpr float kLargestExponent = 0x1p22F;

/// The struct that describes a head to the kernels of an instruction set. Kernels that multiply
/// pairs take bf16 queries, keys and values.
template <class Isa>
using TileHead = std::conditional_t<kPairs<Isa>, Bf16AttentionHead, AttentionHead>;

/// Number of elements in a query or a key.
template <class Isa>
constexpr index element_depth(index head_dim) noexcept {
  return kPairs<Isa> ? pair_depth<Isa>(head_dim) : head_dim;
}
/// Number of rows of values in a tile with `keys` keys.
template <class Isa>
constexpr index element_keys(index keys) noexcept {
  return kPairs<Isa> ? (keys + 1) / 2 : keys;
}

/// Queries [first, first + count) of a head.
struct QueryBlock {
  index first;
  index count;
  index lanes;  ///< `count` rounded up to whole vectors or tiles
  /// The keys that any of the queries may attend to; empty if there are none.
  index key_begin = 0;
  index key_end = 0;
};

/// The scratch memory of one block of queries.
template <class Isa>
class BlockScratch {
 public:
  using Row = RowScratch<FloatIsa<Isa>>;
  /// True if scores need steps other than scale and exclusion by key ranges. These other steps work
  /// on rows.
  static bool works_on_rows(const AttentionHead& head) noexcept {
    return head.mask || !scores_in_log2(head);
  }
  /// True if log2 e can be folded into the queries. This requires that scores are plain products of
  /// queries and keys, without softcap, bias or relative keys.
  static bool scores_in_log2(const AttentionHead& head) noexcept {
    return !(head.softcap > 0 || head.bias || head.distance_bias || head.packed_relative_keys);
  }

  /// Row stride of a tile that is transposed back to (queries × keys).
  static constexpr index kScoreRow = Isa::kTileKeys + kPanelWidth;
  /// Number of floats that each block needs.
  static index own_size(const AttentionHead& head) noexcept {
    const index relative = (head.packed_relative_keys ? relative_cols<Isa>(head) : 0) +
                           (head.relative_values ? relative_cols<Isa>(head) : 0);
    return kQueries<Isa> * (element_depth<Isa>(head.head_dim) + value_cols<Isa>(head) + 4 +
                            (kPairs<Isa> ? 1 : 0) + relative);
  }
  /// Number of floats that the blocks of a pass share.
  static index shared_size(const AttentionHead& head) noexcept {
    const index size = kQueries<Isa> * (Isa::kTileKeys + 1 + kScoreRow) + tile_pairs(head) +
                       output_size(head) + Row::size(head);
    return kTiles<Isa> ? round_up(size, kTileEdge) : size;
  }
  /// Number of pairs that a tile needs: for its keys, for its values, and for a copy of the values
  /// in which excluded keys are zero.
  static index tile_pairs(const AttentionHead& head) noexcept {
    if (!kPairs<Isa>) return 0;
    return 2 * element_keys<Isa>(Isa::kTileKeys) * value_cols<Isa>(head) +
           Isa::kTileKeys * element_depth<Isa>(head.head_dim);
  }
  /// Number of floats for the outputs of a block if they are kept transposed.
  static index output_size(const AttentionHead& head) noexcept {
    return kTiles<Isa> ? kQueries<Isa> * value_cols<Isa>(head) : 0;
  }

  BlockScratch(const AttentionHead& head, float* shared, float* own) noexcept {
    const auto take = [](float*& memory, index count) {
      float* result = memory;
      memory += kQueries<Isa> * count;
      return result;
    };
    tile = take(shared, Isa::kTileKeys);
    factor = take(shared, 1);
    rows = take(shared, kScoreRow);
    if constexpr (kPairs<Isa>) {
      value_pairs = reinterpret_cast<Bf16Pair*>(shared);
      kept_pairs = value_pairs + element_keys<Isa>(Isa::kTileKeys) * value_cols<Isa>(head);
      key_pairs = kept_pairs + element_keys<Isa>(Isa::kTileKeys) * value_cols<Isa>(head);
      shared += tile_pairs(head);
      outputs = shared;
      shared += output_size(head);
      total_weight = take(own, 1);
    }
    row_memory = shared;
    queries = reinterpret_cast<TileElement<Isa>*>(take(own, element_depth<Isa>(head.head_dim)));
    values = take(own, value_cols<Isa>(head));
    max = take(own, 1);
    sum = take(own, 1);
    key_begin = reinterpret_cast<std::int32_t*>(take(own, 1));
    key_end = reinterpret_cast<std::int32_t*>(take(own, 1));
    if (head.packed_relative_keys) relative_products = take(own, relative_cols<Isa>(head));
    if (head.relative_values) distances = take(own, relative_cols<Isa>(head));
  }

  float* tile;  ///< Isa::kTileKeys × kQueries<Isa>: scores, then their exponentials or pairs of
                ///< exponentials
  TileElement<Isa>* queries;  ///< head_dim × kQueries<Isa>
  float* values;  ///< unnormalised output: kQueries<Isa> × value columns, transposed with tile
                  ///< hardware
  float* max;     ///< per query: an integer near the largest score so far, or −∞
  float* sum;     ///< per query
  float* factor;  ///< per query: the factor that rescales its sums
  std::int32_t* key_begin;
  std::int32_t* key_end;
  float* rows;                         ///< kQueries<Isa> × kScoreRow
  float* relative_products = nullptr;  ///< kQueries<Isa> × relative columns
  float* distances = nullptr;  ///< kQueries<Isa> × relative columns: weights per clipped distance
  float* row_memory;           ///< memory of a RowScratch
  // The remaining members are used only for products of pairs.
  Bf16Pair* value_pairs = nullptr;  ///< pairs of keys × value columns
  Bf16Pair* kept_pairs = nullptr;   ///< pairs of keys × value columns, with zeros for keys that a
                                    ///< query may not attend to
  Bf16Pair* key_pairs = nullptr;    ///< keys × pairs of depth, if the keys cannot be read in place
  float* total_weight = nullptr;    ///< per query: sum of its weights after they are rounded to
                                    ///< bf16
  float* outputs = nullptr;         ///< with tile hardware: temporary memory of pair_values, then
                                    ///< the block's outputs, one row per query
};

template <class Isa>
index attention_scratch(const AttentionHead& head) noexcept {
  return BlockScratch<Isa>::shared_size(head) + kPassBlocks * BlockScratch<Isa>::own_size(head);
}

}  // namespace attn::kernels
