#pragma once

// Attention with products of bf16 pairs on tile hardware (AMX). Scores are K·Qᵀ, computed from the
// keys as they are stored and the transposed queries. The outputs of a block are kept transposed,
// Vᵀ·Pᵀ, so the softmax gives the weights in the layout that this product needs. Only values are
// rearranged, once for all blocks of a pass.

#include <algorithm>

#include "kernels/bf16/tiles.hpp"
#include "kernels/tiles/pairs.hpp"

namespace attn::kernels {

/// Keys are rows of pairs, padded with zeros to whole tiles. Values are stored for 32 keys at a
/// time: each column of the values becomes a row of 16 pairs.
template <class Isa>
struct AmxLayout {
  /// Four tiles: products process groups of two by two tiles.
  static constexpr index kQueries = 4 * kTileEdge;
  static constexpr index kKeyStep = 2 * kTileEdge;

  static ATTN_INLINE bool copies_keys(const Bf16AttentionHead& head, index key0) noexcept {
    if (PairLayout<Isa>::copies_keys(head, key0)) return true;
    // Rows that map to the same set of a first-level cache evict each other.
    return head.head_dim % (2 * kTileEdge) != 0 || head.key.row % (2 * kCacheAlias) == 0 ||
           (head.num_keys % kTileEdge != 0 && head.num_keys - key0 < Isa::kTileKeys);
  }

  static ATTN_INLINE void pair_keys(const Bf16AttentionHead& head, index key0, index keys,
                                    Bf16Pair* pairs) noexcept {
    PairLayout<Isa>::pair_keys(head, key0, keys, pairs);
    const index row = pair_depth<Isa>(head.head_dim);
    std::fill_n(pairs + keys * row, (round_up(keys, kTileEdge) - keys) * row, Bf16Pair{});
  }

  template <class Attends>
  static void pair_values(const Bf16AttentionHead& head, index key0, index keys, Attends&& attends,
                          float* memory, Bf16Pair* pairs) noexcept {
    constexpr index kW = kWidth<Isa>;
    const index cols = value_cols<Isa>(head);
    Bf16Pair* const by_key = reinterpret_cast<Bf16Pair*>(memory);
    for (index j = 0; j < keys; j += 2 * kTileEdge, pairs += kTileEdge * cols) {
      const index count = std::min(2 * kTileEdge, keys - j);
      kernels::pair_values(head, key0 + j, count, cols, attends, by_key);
      std::fill(by_key + (count + 1) / 2 * cols, by_key + kTileEdge * cols, Bf16Pair{});
      for (index pair = 0; pair < kTileEdge; pair += kW) {
        const float* rows[kW];
        for (index r = 0; r < kW; ++r) {
          rows[r] = reinterpret_cast<const float*>(by_key + (pair + r) * cols);
        }
        for (index c = 0; c < cols; c += 4) {
          Floats<Isa> columns[4];
          load_columns<Isa>(rows, c, columns);
          unroll<4>([&](auto i) ATTN_INLINED {
            store_elements<Isa>(columns[i], pairs + (c + i) * kTileEdge + pair);
          });
        }
      }
    }
  }
};

template <class I>
struct AmxTiles : PairTiles<I, AmxLayout<I>> {
  using Isa = I;
  using Base = PairTiles<I, AmxLayout<I>>;
  using typename Base::Head;
  static constexpr index kQueries = Base::kQueries;

  struct Scratch : Base::Scratch {
    Scratch(const Head& head, float* shared, float* own) noexcept
        : Base::Scratch(head, shared, own), outputs(this->row_memory) {
      this->row_memory += output_size(head);
    }
    static index shared_size(const AttentionHead& head) noexcept {
      return round_up(Base::Scratch::shared_size(head) + output_size(head), kTileEdge);
    }
    static index output_size(const AttentionHead& head) noexcept {
      return kQueries * value_cols<Isa>(head);
    }

    float* outputs;  ///< the outputs of a block, one row per query
  };

  static ATTN_INLINE void begin(const Head& head, const QueryBlock& block, float sum,
                                const Scratch& scratch) noexcept {
    std::fill_n(scratch.total_weight, block.lanes, sum);
    std::fill_n(scratch.accumulator, kQueries * value_cols<Isa>(head), 0.0F);
  }

  static ATTN_INLINE void score_tile(const Head& head, const QueryBlock& block, index key0,
                                     index keys, const Scratch& scratch) noexcept {
    const Strided<const Bf16Pair> key = Base::find_keys(head, key0, scratch);
    for_tile_groups(
        tiles_of(keys), block.lanes / kTileEdge,
        [&](index row, index col, auto m, auto n) ATTN_INLINED {
          tile_product<typename Isa::Tiles, m, n, false>(
              pair_depth<Isa>(head.head_dim) / kTileEdge,
              {key.at(row * kTileEdge), key.row, kTileEdge, kTileEdge * key.row},
              {scratch.queries + col * kTileEdge, kQueries, kTileEdge * kQueries, kTileEdge},
              nullptr, scratch.tile + (row * kQueries + col) * kTileEdge, kQueries);
        });
  }

  /// accumulatorᵀ = accumulatorᵀ · factor + Vᵀ · tile, for all queries of a block or for one query.
  ///
  /// Vᵀ (value columns × pairs of keys) and the weights (pairs of keys × queries) are divided into
  /// tiles. Each group of m × n tiles of the product is summed over all keys, then added:
  ///
  ///                    n tiles of queries
  ///                   +---------+---------+
  ///   m tiles of      |         |         |   `products`, contiguous, and the same rows and
  ///   value columns   +---------+---------+   columns of the accumulator, whose rows have
  ///                   |         |         |   kQueries elements
  ///                   +---------+---------+
  static void add_values(const Head& head, index begin, index end, index keys,
                         Strided<const Bf16Pair> value, const Scratch& scratch) noexcept {
    const index cols = value_cols<Isa>(head);
    const index key_tiles = pad_weights(keys, scratch);
    const Bf16Pair* const weights = reinterpret_cast<const Bf16Pair*>(scratch.tile);
    const index first_tile = begin / kTileEdge;
    const bool single_query = end - begin == 1;
    for_tile_groups(
        cols / kTileEdge, tiles_of(end) - first_tile,
        [&](index row, index col, auto m, auto n) ATTN_INLINED {
          constexpr index kRows = m * kTileEdge;
          constexpr index kCols = n * kTileEdge;
          alignas(64) float products[kRows * kCols];
          const index query = (first_tile + col) * kTileEdge;
          tile_product<typename Isa::Tiles, m, n, false>(
              key_tiles, {value.data + row * kTilePairs, kTileEdge, cols * kTileEdge, kTilePairs},
              {weights + query, kQueries, kTileEdge * kQueries, kTileEdge}, nullptr, products,
              kCols);
          float* const accumulator = scratch.accumulator + row * kTileEdge * kQueries + query;
          const float* const factor = scratch.factor + query;
          if (single_query) {
            add_products<kRows, kCols>(accumulator, factor, products, products, kCols);
            copy_column<kRows>(products + begin - query, kCols, accumulator + begin - query);
          } else {
            add_products<kRows, kCols>(accumulator, factor, products, accumulator, kQueries);
          }
        });
  }

  static ATTN_INLINE void finish(const Head& head, const QueryBlock& block,
                                 const Scratch& scratch) noexcept {
    const index cols = value_cols<Isa>(head);
    transpose<Isa>(cols, block.lanes, {scratch.accumulator, kQueries}, 1.0F,
                   {scratch.outputs, cols});
  }
  static ATTN_INLINE const float* finish_accumulator(const AttentionHead& head, index r,
                                                     const Scratch& scratch) noexcept {
    return scratch.outputs + r * value_cols<Isa>(head);
  }

 private:
  /// Pads the weights of a tile with zeros to whole tiles. Returns the number of tiles along the
  /// keys.
  static ATTN_INLINE index pad_weights(index keys, const Scratch& scratch) noexcept {
    const index rows = Base::pair_rows(keys);
    const index key_tiles = tiles_of(rows);
    Bf16Pair* const weights = reinterpret_cast<Bf16Pair*>(scratch.tile);
    std::fill(weights + rows * kQueries, weights + key_tiles * kTileEdge * kQueries, Bf16Pair{});
    return key_tiles;
  }

  /// to = accumulator · factor + products, with a factor per column. `to` may be either operand.
  template <index Rows, index Cols>
  static ATTN_INLINE void add_products(const float* accumulator, const float* factor,
                                       const float* products, float* to, index to_row) noexcept {
    using F = Floats<Isa>;
    constexpr index kW = kWidth<Isa>;
    F factors[Cols / kW];
    unroll<Cols / kW>([&](auto v)
                          ATTN_INLINED { factors[v] = F::load_unaligned(factor + v * kW); });
    for (index i = 0; i < Rows; ++i) {
      unroll<Cols / kW>([&](auto v) ATTN_INLINED {
        Isa::madd(F::load_unaligned(accumulator + i * kQueries + v * kW), factors[v],
                  F::load_unaligned(products + i * Cols + v * kW))
            .store_unaligned(to + i * to_row + v * kW);
      });
    }
  }

  /// Copies a column to the column of the accumulator that begins at `to`.
  template <index Rows>
  static ATTN_INLINE void copy_column(const float* from, index from_row, float* to) noexcept {
    for (index i = 0; i < Rows; ++i) to[i * kQueries] = from[i * from_row];
  }
};

}  // namespace attn::kernels
