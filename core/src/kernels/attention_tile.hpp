#pragma once

// Processes one tile of keys for a block of queries: scores, exclusion, the running softmax,
// weights · values. Tiles are (keys × queries), as described in attention.hpp.

#include <algorithm>
#include <cmath>

#include "kernels/attention_scratch.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// The rows that a product reads, and their stride.
template <class Isa>
struct TileRows {
  const TileElement<Isa>* data;
  index row;
};

/// The keys from key0 on; they are all in one tile.
template <class Isa>
ATTN_INLINE TileRows<Isa> key_rows(const TileHead<Isa>& head, index key0,
                                   const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kPairs<Isa>) {
    const index row = element_depth<Isa>(head.head_dim);
    const index in_tile = key0 % Isa::kTileKeys;
    if (copies_keys<Isa>(head, key0 - in_tile)) return {scratch.key_pairs + in_tile * row, row};
    return {reinterpret_cast<const Bf16Pair*>(head.key + key0 * head.key_row), head.key_row / 2};
  } else {
    return {head.key + key0 * head.key_row, head.key_row};
  }
}

/// The values from key0 on; key0 is a multiple of kKeyStep.
template <class Isa>
ATTN_INLINE TileRows<Isa> value_rows(const TileHead<Isa>& head, index key0,
                                     const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kPairs<Isa>) {
    // On tile hardware, the values of kKeyStep keys are arranged in tiles instead of rows, but they
    // occupy the same number of pairs, so the offset is the same.
    const index row = value_cols<Isa>(head);
    return {scratch.value_pairs + key0 % Isa::kTileKeys / 2 * row, row};
  } else {
    return {head.value + key0 * head.value_row, head.value_row};
  }
}

/// Pairs the values from key0 on. Keys for which keep(key) is false get zeros.
template <class Isa, class Keep>
ATTN_INLINE void pair_values(const Bf16AttentionHead& head, index key0, index keys, Keep&& keep,
                             const BlockScratch<Isa>& scratch, Bf16Pair* pairs) noexcept {
  const index cols = value_cols<Isa>(head);
  if constexpr (kTiles<Isa>) {
    pair_values_in_tiles<Isa>(head, key0, keys, cols, keep,
                              reinterpret_cast<Bf16Pair*>(scratch.outputs), pairs);
  } else {
    pair_values(head, key0, keys, cols, keep, pairs);
  }
}

/// Arranges the keys and values of a tile in pairs, for all blocks of a pass. Floats are read in
/// place.
template <class Isa>
ATTN_INLINE void prepare_tile([[maybe_unused]] const TileHead<Isa>& head,
                              [[maybe_unused]] index key0,
                              [[maybe_unused]] const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kPairs<Isa>) {
    const index keys = std::min(Isa::kTileKeys, head.num_keys - key0);
    pair_values<Isa>(head, key0, keys, [](index) { return true; }, scratch, scratch.value_pairs);
    if (copies_keys<Isa>(head, key0)) pair_keys<Isa>(head, key0, keys, scratch.key_pairs);
  }
}

/// tile_ji = k_j · q_i for keys [key0, key0 + keys).
template <class Isa>
ATTN_INLINE void score_tile(const TileHead<Isa>& head, const QueryBlock& block, index key0,
                            index keys, const BlockScratch<Isa>& scratch) noexcept {
  constexpr index kW = kWidth<Isa>;
  const TileRows<Isa> key = key_rows<Isa>(head, key0, scratch);
  if constexpr (kTiles<Isa>) {
    constexpr index kQ = kQueries<Isa>;
    return for_tile_groups(
        tiles_of(keys), block.lanes / kTileEdge,
        [&](index row, index col, auto m, auto n) ATTN_INLINED {
          tile_product<typename Isa::Tiles, m, n, false>(
              element_depth<Isa>(head.head_dim) / kTileEdge,
              {key.data + row * kTileEdge * key.row, key.row, kTileEdge, kTileEdge * key.row},
              {scratch.queries + col * kTileEdge, kQ, kTileEdge * kQ, kTileEdge}, nullptr,
              scratch.tile + (row * kQ + col) * kTileEdge, kQ);
        });
  }
  for (index j = 0; j < keys; j += Isa::kScoreRows) {
    const index rows = std::min<index>(Isa::kScoreRows, keys - j);
    for_columns<Isa, Isa::kScoreVectors>(block.lanes, [&](index col, auto vectors) ATTN_INLINED {
      const TileElement<Isa>* b[vectors];
      unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = scratch.queries + col + v * kW; });
      product_rows<Isa, Isa::kScoreRows, vectors, TileFinish::kStore, kAnyStride, 1>(
          rows, element_depth<Isa>(head.head_dim), key.data + j * key.row, key.row, b,
          kQueries<Isa>, scratch.tile + j * kQueries<Isa> + col, kQueries<Isa>);
    });
  }
}

/// Transposes a tile back into scratch.rows and multiplies it by a factor.
template <class Isa>
ATTN_INLINE void transpose_tile(const QueryBlock& block, index keys,
                                const BlockScratch<Isa>& scratch, float factor = 1.0F) noexcept {
  transpose<Isa>(keys, block.count, scratch.tile, kQueries<Isa>, 1, factor, scratch.rows,
                 BlockScratch<Isa>::kScoreRow);
}

/// The products of query r of a block with the Shaw table, or null.
template <class Isa>
ATTN_INLINE const float* relative_products_of(const AttentionHead& head, index r,
                                              const BlockScratch<Isa>& scratch) noexcept {
  return scratch.relative_products ? scratch.relative_products + r * relative_cols<Isa>(head)
                                   : nullptr;
}

/// The scores of a tile in units of ln 2, or for pairs in units of `score_unit`; excluded scores
/// are −∞.
template <class Isa>
ATTN_INLINE void fill_tile(const TileHead<Isa>& head, const QueryBlock& block, index key0,
                           index keys, const BlockScratch<Isa>& scratch) noexcept {
  score_tile<Isa>(head, block, key0, keys, scratch);
  if (BlockScratch<Isa>::works_on_rows(head)) {
    transpose_tile<Isa>(block, keys, scratch, kPairs<Isa> ? std::abs(head.scale) : 1.0F);
    for (index r = 0; r < block.count; ++r) {
      modify_scores<Isa>(head, block.first + r, key0, keys,
                         relative_products_of<Isa>(head, r, scratch), ScoreStage::kWeights,
                         scratch.rows + r * BlockScratch<Isa>::kScoreRow);
    }
    const float unit = BlockScratch<Isa>::scores_in_log2(head) && !kPairs<Isa> ? 1.0F : kLog2E;
    transpose<Isa>(block.count, keys, scratch.rows, BlockScratch<Isa>::kScoreRow, 1, unit,
                   scratch.tile, kQueries<Isa>);
    return;
  }
  bool whole = true;
  for (index r = 0; r < block.count; ++r) {
    whole &= scratch.key_begin[r] <= key0 && scratch.key_end[r] >= key0 + keys;
  }
  if (whole) return;
  exclude_by_range<Isa>(scratch.key_begin, scratch.key_end, 0, block.lanes, key0, keys,
                        scratch.tile, kQueries<Isa>);
}

/// Turns scores s into 2^(s − m), where m is an integer, and returns the sums per query.
template <class Isa, int Vectors>
ATTN_INLINE void exponentiate(index keys, float* tile, const Floats<Isa> (&max)[Vectors],
                              Floats<Isa> (&sum)[Vectors]) noexcept {
  using F = Floats<Isa>;
  F rounder[Vectors], lowest[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    rounder[v] = F(kExponentRounder) - max[v];
    lowest[v] = max[v] - F(127.0F);
    sum[v] = F(0.0F);
  });
  for (index j = 0; j < keys; ++j) {
    F e[Vectors];
    float* scores = tile + j * kQueries<Isa>;
    unroll<Vectors>([&](auto v)
                        ATTN_INLINED { e[v] = F::load_unaligned(scores + v * kWidth<Isa>); });
    exp2_shifted<Isa, Vectors>(e, rounder, lowest);
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      e[v].store_unaligned(scores + v * kWidth<Isa>);
      sum[v] += e[v];
    });
  }
}

/// The factor that converts the scores from fill_tile to units of ln 2. For products of pairs,
/// fill_tile converts the scores only if it works on rows. In all other cases it converts them, and
/// the factor is 1.
template <class Isa>
ATTN_INLINE float score_unit(const AttentionHead& head) noexcept {
  return !kPairs<Isa> || BlockScratch<Isa>::works_on_rows(head) ? 1.0F
                                                                : std::abs(head.scale) * kLog2E;
}

/// The number subtracted from the scores of a query: its maximum, or 0 before the first key.
template <class Isa>
ATTN_INLINE Floats<Isa> shift_of(Floats<Isa> max) noexcept {
  return xsimd::select(max == Floats<Isa>(kMinusInfinity), Floats<Isa>(0.0F), max);
}

/// Updates the running maxima and sums with a tile of scores, and turns the tile into exponentials.
template <class Isa, int Vectors>
ATTN_INLINE void update_softmax(index keys, index col, [[maybe_unused]] float unit,
                                const BlockScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  float* tile = scratch.tile + col;
  // Computes separate maxima of even and odd keys. Each maximum depends on the previous one, so two
  // independent chains are faster than one.
  F largest[2 * Vectors];
  unroll<2 * Vectors>([&](auto i) ATTN_INLINED { largest[i] = F(kMinusInfinity); });
  const auto take = [&](auto i, const float* scores) ATTN_INLINED {
    largest[i] = xsimd::max(F::load_unaligned(scores + i % Vectors * kW), largest[i]);
  };
  for (index j = 0; j + 2 <= keys; j += 2) {
    unroll<2 * Vectors>([&](auto i)
                            ATTN_INLINED { take(i, tile + (j + i / Vectors) * kQueries<Isa>); });
  }
  if (keys % 2 != 0) {
    unroll<Vectors>([&](auto v) ATTN_INLINED { take(v, tile + (keys - 1) * kQueries<Isa>); });
  }
  F shift[Vectors], sum[Vectors], factor[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    const F rounder(kRounder);
    F tile_max = xsimd::max(largest[v], largest[Vectors + v]);
    if constexpr (kPairs<Isa>) tile_max *= F(unit);
    tile_max = (tile_max + rounder) - rounder;
    const F old_max = F::load_unaligned(scratch.max + col + v * kW);
    const F new_max = xsimd::max(tile_max, old_max);
    factor[v] =
        xsimd::select(new_max == old_max, F(1.0F), exp2_nonpositive<Isa>(old_max - new_max));
    factor[v].store_unaligned(scratch.factor + col + v * kW);
    new_max.store_unaligned(scratch.max + col + v * kW);
    shift[v] = shift_of<Isa>(new_max);
  });
  const auto add_to = [&](float* totals) ATTN_INLINED {
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      float* total = totals + col + v * kW;
      Isa::madd(F::load_unaligned(total), factor[v], sum[v]).store_unaligned(total);
    });
  };
  if constexpr (kPairs<Isa>) {
    F weights[Vectors];
    exponentiate_pairs<Isa, Vectors>(keys, unit, tile, kQueries<Isa>, shift, sum, weights);
    add_to(scratch.sum);
    unroll<Vectors>([&](auto v) ATTN_INLINED { sum[v] = weights[v]; });
    add_to(scratch.total_weight);
  } else {
    exponentiate<Isa, Vectors>(keys, tile, shift, sum);
    add_to(scratch.sum);
  }
}

/// valuesᵀ = valuesᵀ · factor + Vᵀ · tile with V in tiles, for one query or for all queries of a
/// block.
template <class Isa>
void add_value_tiles(const AttentionHead& head, index begin, index end, index keys,
                     const Bf16Pair* value, const BlockScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kQ = kQueries<Isa>;
  const index cols = value_cols<Isa>(head);
  const index steps = tiles_of(element_keys<Isa>(keys));
  Bf16Pair* const weights = reinterpret_cast<Bf16Pair*>(scratch.tile);
  std::fill(weights + element_keys<Isa>(keys) * kQ, weights + steps * kTileEdge * kQ, Bf16Pair{});
  const index first = begin / kTileEdge;
  const bool one = end - begin == 1;
  for_tile_groups(cols / kTileEdge, tiles_of(end) - first,
                  [&](index row, index col, auto m, auto n) ATTN_INLINED {
                    constexpr index kRow = n * kTileEdge;
                    alignas(64) float sums[m * kTileEdge * kRow];
                    const index query = (first + col) * kTileEdge;
                    tile_product<typename Isa::Tiles, m, n, false>(
                        steps, {value + row * kTilePairs, kTileEdge, cols * kTileEdge, kTilePairs},
                        {weights + query, kQ, kTileEdge * kQ, kTileEdge}, nullptr, sums, kRow);
                    float* const values = scratch.values + row * kTileEdge * kQ + query;
                    F factors[kRow / kW];
                    unroll<kRow / kW>([&](auto v) ATTN_INLINED {
                      factors[v] = F::load_unaligned(scratch.factor + query + v * kW);
                    });
                    for (index i = 0; i < m * kTileEdge; ++i) {
                      float* const target = values + i * kQ;
                      float* const sum = sums + i * kRow;
                      unroll<kRow / kW>([&](auto v) ATTN_INLINED {
                        Isa::madd(F::load_unaligned(target + v * kW), factors[v],
                                  F::load_unaligned(sum + v * kW))
                            .store_unaligned((one ? sum : target) + v * kW);
                      });
                      if (one) target[begin - query] = sum[begin - query];
                    }
                  });
}

/// values = values · factor + tileᵀ · V for queries [begin, end) of a block.
template <class Isa>
ATTN_INLINE void add_values(const AttentionHead& head, index begin, index end, index keys,
                            const TileRows<Isa>& value, const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kTiles<Isa>) {
    return add_value_tiles<Isa>(head, begin, end, keys, value.data, scratch);
  }
  constexpr index kW = kWidth<Isa>;
  const index cols = value_cols<Isa>(head);
  for_columns<Isa, Isa::kVectors>(cols, [&](index col, auto vectors) ATTN_INLINED {
    const TileElement<Isa>* b[vectors];
    unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = value.data + col + v * kW; });
    for (index r = begin; r < end; r += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kScaleAdd, 1, kQueries<Isa>>(
          std::min<index>(Isa::kValueRows, end - r), element_keys<Isa>(keys),
          reinterpret_cast<const TileElement<Isa>*>(scratch.tile) + r, 0, b, value.row,
          scratch.values + r * cols + col, cols, scratch.factor + r);
    }
  });
}

/// Applies the steps that need the exponentials of each query in a row: dropout and sums per
/// distance.
template <class Isa>
void modify_weights(const AttentionHead& head, const QueryBlock& block, index key0, index keys,
                    const BlockScratch<Isa>& scratch) noexcept {
  transpose_tile<Isa>(block, keys, scratch);
  for (index r = 0; r < block.count; ++r) {
    float* weights = scratch.rows + r * BlockScratch<Isa>::kScoreRow;
    if (head.random_words) drop_weights<Isa>(head, block.first + r, key0, keys, weights);
    if (scratch.distances) {
      float* distances = scratch.distances + r * relative_cols<Isa>(head);
      if (scratch.factor[r] != 1.0F) {
        for (index c = 0; c <= 2 * head.max_distance; ++c) distances[c] *= scratch.factor[r];
      }
      add_to_distances<Isa>(head, block.first + r, key0, keys, weights, distances);
    }
  }
  transpose<Isa>(block.count, keys, scratch.rows, BlockScratch<Isa>::kScoreRow, 1, 1.0F,
                 scratch.tile, kQueries<Isa>);
}

/// The values of a tile, with zeros for keys that query `row` may not attend to.
template <class Isa>
ATTN_INLINE TileRows<Isa> attended_values(const TileHead<Isa>& head, index row, index key0,
                                          index keys, const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kPairs<Isa>) {
    pair_values<Isa>(
        head, key0, keys, [&](index key) { return is_attended<FloatIsa<Isa>>(head, row, key); },
        scratch, scratch.kept_pairs);
    return {scratch.kept_pairs, value_cols<Isa>(head)};
  } else {
    const RowScratch<Isa> row_scratch(head, scratch.row_memory);
    copy_attended<Isa>(head, row, key0, keys, row_scratch.kept);
    return {row_scratch.kept, value_cols<Isa>(head)};
  }
}

/// Processes keys [key_begin, key_end) of a block. These keys are part of one tile. With `chosen`,
/// processes only the chosen queries and does not even multiply excluded values by zero. If
/// excluded values are not finite, the results have the same bits as if they were.
template <class Isa>
void attend_tile(const TileHead<Isa>& head, const QueryBlock& block, index key_begin, index key_end,
                 const bool* chosen, const BlockScratch<Isa>& scratch) noexcept {
  const index key0 = std::max(key_begin, block.key_begin);
  const index keys = std::min(key_end, block.key_end) - key0;
  if (keys <= 0) return;
  fill_tile<Isa>(head, block, key0, keys, scratch);
  const float unit = score_unit<Isa>(head);
  for_columns<Isa, Isa::kSoftmaxVectors>(block.lanes, [&](index col, auto vectors) ATTN_INLINED {
    update_softmax<Isa, vectors>(keys, col, unit, scratch);
  });
  if constexpr (!kPairs<Isa>) {
    if (head.random_words || scratch.distances) {
      modify_weights<Isa>(head, block, key0, keys, scratch);
    }
  }
  if (chosen) {
    for (index r = 0; r < block.count; ++r) {
      if (!chosen[r]) continue;
      add_values<Isa>(head, r, r + 1, keys,
                      attended_values<Isa>(head, block.first + r, key0, keys, scratch), scratch);
    }
  } else {
    add_values<Isa>(head, 0, block.count, keys, value_rows<Isa>(head, key0, scratch), scratch);
  }
}

}  // namespace attn::kernels
