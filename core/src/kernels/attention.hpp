#pragma once

// Tiled attention with an online softmax: a block of queries passes over one tile of keys after
// the other, and only a running maximum, a running sum and an unnormalised output row per query are
// carried along.
//
//   s_ij = bias(cap(scale · q_i·k_j))          for the keys j that query i may attend to
//   m_i  = max_j s_ij,   l_i = Σ_j exp(s_ij − m_i)
//   o_i  = Σ_j exp(s_ij − m_i) · v_j / l_i,    lse_i = m_i + ln l_i
//
// (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135.)
//
// A tile of scores lies (keys × queries): the queries of a block, transposed once, are what the
// vectors run along. Keys and values are then read where they lie, and the softmax needs no sum
// across a vector. Scores are in units of ln 2 (log2 e is folded into the queries), and the maximum
// is rounded to an integer: taking it off is a matter of exponents, and rescaling is exact.
//
// Where products are those of bf16 pairs, queries and keys are paired along the depth, as they lie,
// weights and values along the keys. The scale then waits until the products are formed, since the
// queries cannot take it without being rounded once more.
//
// With tiles (AMX) scores are K·Qᵀ, of keys as they lie and the transposed queries, and the outputs
// of a block are kept transposed, Vᵀ·Pᵀ: weights come out of the softmax as that product takes
// them. Only values are rearranged, once for all blocks of a pass.

#include <algorithm>
#include <cmath>

#include "kernels/attention_row.hpp"
#include "kernels/bf16/pairs.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// Queries of a block.
inline constexpr index kBlockQueries = 48;
/// The same by instruction set: with tiles groups of two by two of them.
template <class Isa>
inline constexpr index kQueries = kTiles<Isa> ? 4 * kTileEdge : kBlockQueries;
/// Blocks that pass over the keys together, so that each tile of keys and values is fetched once
/// for all of them.
inline constexpr index kPassBlocks = 4;
/// Tiles start at multiples of this from key 0 at least.
template <class Isa>
inline constexpr index kKeyStep = kTiles<Isa> ? 2 * kTileEdge : 16;

/// Maxima below this can be taken off as exponents; what is beyond goes row by row.
inline constexpr float kLargestExponent = 0x1p22F;

/// A head as tiles read it.
template <class Isa>
using TileHead = std::conditional_t<kPairs<Isa>, Bf16AttentionHead, AttentionHead>;

/// Elements of a query or a key.
template <class Isa>
constexpr index element_depth(index head_dim) noexcept {
  return kPairs<Isa> ? pair_depth<Isa>(head_dim) : head_dim;
}
/// Rows of values in a tile of so many keys.
template <class Isa>
constexpr index element_keys(index keys) noexcept {
  return kPairs<Isa> ? (keys + 1) / 2 : keys;
}

/// The scratch memory of one block of queries.
template <class Isa>
class BlockScratch {
 public:
  using Row = RowScratch<FloatIsa<Isa>>;
  /// Whether scores take more steps than scale and exclusion by key ranges: these work on rows.
  static bool works_on_rows(const AttentionHead& head) noexcept {
    return head.mask || !scores_in_log2(head);
  }
  /// Whether log2 e can be folded into the queries: nothing is added to their products with keys.
  static bool scores_in_log2(const AttentionHead& head) noexcept {
    return !(head.softcap > 0 || head.bias || head.distance_bias || head.packed_relative_keys);
  }

  /// Floats between the rows of a tile that is transposed back to (queries × keys).
  static constexpr index kScoreRow = Isa::kTileKeys + kPanelWidth;
  /// Floats that a block needs for itself.
  static index own_size(const AttentionHead& head) noexcept {
    const index relative = (head.packed_relative_keys ? relative_cols<Isa>(head) : 0) +
                           (head.relative_values ? relative_cols<Isa>(head) : 0);
    return kQueries<Isa> * (element_depth<Isa>(head.head_dim) + value_cols<Isa>(head) + 4 +
                            (kPairs<Isa> ? 1 : 0) + relative);
  }
  /// Floats that the blocks of a pass share.
  static index shared_size(const AttentionHead& head) noexcept {
    const index size = kQueries<Isa> * (Isa::kTileKeys + 1 + kScoreRow) + tile_pairs(head) +
                       output_size(head) + Row::size(head);
    return kTiles<Isa> ? round_up(size, kTileEdge) : size;
  }
  /// Of the paired values of a tile, twice, and of its keys.
  static index tile_pairs(const AttentionHead& head) noexcept {
    if (!kPairs<Isa>) return 0;
    return 2 * element_keys<Isa>(Isa::kTileKeys) * value_cols<Isa>(head) +
           Isa::kTileKeys * element_depth<Isa>(head.head_dim);
  }
  /// Of the outputs of a block, where they are kept transposed.
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

  float*
      tile;  ///< Isa::kTileKeys × kQueries<Isa>: scores, then their exponentials, or pairs of them
  TileElement<Isa>* queries;  ///< head_dim × kQueries<Isa>
  float* values;  ///< kQueries<Isa> × value columns, with tiles transposed: unnormalised output
  float* max;     ///< per query: an integer near the largest score so far, or −∞
  float* sum;     ///< per query
  float* factor;  ///< per query: what its sums are rescaled by
  std::int32_t* key_begin;
  std::int32_t* key_end;
  float* rows;                         ///< kQueries<Isa> × kScoreRow
  float* relative_products = nullptr;  ///< kQueries<Isa> × relative columns
  float* distances = nullptr;  ///< kQueries<Isa> × relative columns: weights per clipped distance
  float* row_memory;           ///< of a RowScratch
  // Of pairs only.
  Bf16Pair* value_pairs = nullptr;  ///< pairs of keys × value columns
  Bf16Pair* kept_pairs = nullptr;   ///< the same with nothing of what a query may not attend to
  Bf16Pair* key_pairs = nullptr;    ///< keys × pairs of depth, where they cannot be read in place
  float* total_weight = nullptr;    ///< per query: sum of its weights as they are multiplied
  float* outputs = nullptr;  ///< with tiles: values in rows; before that what is paired for them
};

template <class Isa>
index attention_scratch(const AttentionHead& head) noexcept {
  return BlockScratch<Isa>::shared_size(head) + kPassBlocks * BlockScratch<Isa>::own_size(head);
}

/// Queries [first, first + count) of a head.
struct QueryBlock {
  index first;
  index count;
  index lanes;  ///< count in whole vectors, or tiles
  /// The keys that any of them may attend to; empty when none may.
  index key_begin = 0;
  index key_end = 0;
};

/// Calls body(col, vectors) for the columns of a tile, in groups of kVectors vectors, and then of
/// smaller powers of two.
template <class Isa, int kVectors, class Body>
ATTN_INLINE void for_columns(index cols, Body&& body, index col = 0) noexcept {
  constexpr index kGroup = kVectors * kWidth<Isa>;
  for (; col + kGroup <= cols; col += kGroup) {
    body(col, std::integral_constant<int, kVectors>{});
  }
  if constexpr (kVectors > 1) {
    constexpr int kSmaller = static_cast<int>(std::bit_floor(static_cast<unsigned>(kVectors - 1)));
    if (col < cols) for_columns<Isa, kSmaller>(cols, body, col);
  }
}

/// Transposes the queries, scaled.
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

/// Rows that a product reads.
template <class Isa>
struct TileRows {
  const TileElement<Isa>* data;
  index row;
};

/// Keys from key0 on, which lie in one tile.
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

/// Values from key0 on: a multiple of kKeyStep.
template <class Isa>
ATTN_INLINE TileRows<Isa> value_rows(const TileHead<Isa>& head, index key0,
                                     const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kPairs<Isa>) {
    // Tiles of pairs take as many as rows of them.
    const index row = value_cols<Isa>(head);
    return {scratch.value_pairs + key0 % Isa::kTileKeys / 2 * row, row};
  } else {
    return {head.value + key0 * head.value_row, head.value_row};
  }
}

/// Pairs of those values from key0 on for which keep(key).
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

/// Pairs keys and values of a tile for all blocks of a pass; floats are read where they lie.
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
        [&](index row, index col, auto m, auto n) __attribute__((always_inline)) {
          tile_product<typename Isa::Tiles, m, n, false>(
              element_depth<Isa>(head.head_dim) / kTileEdge,
              {key.data + row * kTileEdge * key.row, key.row, kTileEdge, kTileEdge * key.row},
              {scratch.queries + col * kTileEdge, kQ, kTileEdge * kQ, kTileEdge}, nullptr,
              scratch.tile + (row * kQ + col) * kTileEdge, kQ);
        });
  }
  for (index j = 0; j < keys; j += Isa::kScoreRows) {
    const index rows = std::min<index>(Isa::kScoreRows, keys - j);
    for_columns<Isa, Isa::kScoreVectors>(
        block.lanes, [&](index col, auto vectors) __attribute__((always_inline)) {
          const TileElement<Isa>* b[vectors];
          unroll<vectors>([&](auto v) __attribute__((always_inline)) {
            b[v] = scratch.queries + col + v * kW;
          });
          product_rows<Isa, Isa::kScoreRows, vectors, TileFinish::kStore, kAnyStride, 1>(
              rows, element_depth<Isa>(head.head_dim), key.data + j * key.row, key.row, b,
              kQueries<Isa>, scratch.tile + j * kQueries<Isa> + col, kQueries<Isa>);
        });
  }
}

/// Sets scores outside each query's range of keys to −∞.
template <class Isa>
ATTN_INLINE void exclude_by_range(const QueryBlock& block, index key0, index keys,
                                  const BlockScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  using I = xsimd::as_integer_t<F>;
  for (index i = 0; i < block.lanes; i += kWidth<Isa>) {
    const I begin = I::load_unaligned(scratch.key_begin + i);
    const I end = I::load_unaligned(scratch.key_end + i);
    for (index j = 0; j < keys; ++j) {
      const I key(static_cast<std::int32_t>(key0 + j));
      float* scores = scratch.tile + j * kQueries<Isa> + i;
      xsimd::select(xsimd::batch_bool_cast<float>((key < begin) | (key >= end)), F(kMinusInfinity),
                    F::load_unaligned(scores))
          .store_unaligned(scores);
    }
  }
}

/// Transposes a tile back, times a factor, into scratch.rows.
template <class Isa>
ATTN_INLINE void lay_out_rows(const QueryBlock& block, index keys, const BlockScratch<Isa>& scratch,
                              float factor = 1.0F) noexcept {
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

/// The scores of a tile, excluded ones −∞, in units of ln 2; of pairs in those of `score_unit`.
template <class Isa>
ATTN_INLINE void fill_tile(const TileHead<Isa>& head, const QueryBlock& block, index key0,
                           index keys, const BlockScratch<Isa>& scratch) noexcept {
  score_tile<Isa>(head, block, key0, keys, scratch);
  if (BlockScratch<Isa>::works_on_rows(head)) {
    lay_out_rows<Isa>(block, keys, scratch, kPairs<Isa> ? std::abs(head.scale) : 1.0F);
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
  if (!whole) exclude_by_range<Isa>(block, key0, keys, scratch);
}

/// Turns scores s into 2^(s − m), for m an integer, and returns their sums per query.
template <class Isa, int Vectors>
ATTN_INLINE void exponentials(index keys, float* tile, const Floats<Isa> (&max)[Vectors],
                              Floats<Isa> (&sum)[Vectors]) noexcept {
  using F = Floats<Isa>;
  F rounder[Vectors], lowest[Vectors];
  unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
    rounder[v] = F(kExponentRounder) - max[v];
    lowest[v] = max[v] - F(127.0F);
    sum[v] = F(0.0F);
  });
  for (index j = 0; j < keys; ++j) {
    F e[Vectors];
    float* scores = tile + j * kQueries<Isa>;
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      e[v] = F::load_unaligned(scores + v * kWidth<Isa>);
    });
    exp2_shifted<Isa, Vectors>(e, rounder, lowest);
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      e[v].store_unaligned(scores + v * kWidth<Isa>);
      sum[v] += e[v];
    });
  }
}

/// What the scores of a tile of pairs are still to be multiplied by, to be in units of ln 2: what
/// works on rows has done it.
template <class Isa>
ATTN_INLINE float score_unit(const AttentionHead& head) noexcept {
  return !kPairs<Isa> || BlockScratch<Isa>::works_on_rows(head) ? 1.0F
                                                                : std::abs(head.scale) * kLog2E;
}

/// What is taken off the scores of a query: its maximum, or 0 before the first key.
template <class Isa>
ATTN_INLINE Floats<Isa> shift_of(Floats<Isa> max) noexcept {
  return xsimd::select(max == Floats<Isa>(kMinusInfinity), Floats<Isa>(0.0F), max);
}

/// Takes a tile of scores into the running maxima and sums; the exponentials stay in it.
template <class Isa, int Vectors>
ATTN_INLINE void update_softmax(index keys, index col, [[maybe_unused]] float unit,
                                const BlockScratch<Isa>& scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  float* tile = scratch.tile + col;
  // Two at a time: a maximum has to wait for the one before it.
  F largest[2 * Vectors];
  unroll<2 * Vectors>([&](auto i)
                          __attribute__((always_inline)) { largest[i] = F(kMinusInfinity); });
  const auto take = [&](auto i, const float* scores) __attribute__((always_inline)) {
    largest[i] = xsimd::max(F::load_unaligned(scores + i % Vectors * kW), largest[i]);
  };
  for (index j = 0; j + 2 <= keys; j += 2) {
    unroll<2 * Vectors>([&](auto i) __attribute__((always_inline)) {
      take(i, tile + (j + i / Vectors) * kQueries<Isa>);
    });
  }
  if (keys % 2 != 0) {
    unroll<Vectors>(
        [&](auto v) __attribute__((always_inline)) { take(v, tile + (keys - 1) * kQueries<Isa>); });
  }
  F shift[Vectors], sum[Vectors], factor[Vectors];
  unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
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
  const auto add_to = [&](float* totals) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      float* total = totals + col + v * kW;
      Isa::madd(F::load_unaligned(total), factor[v], sum[v]).store_unaligned(total);
    });
  };
  if constexpr (kPairs<Isa>) {
    F weights[Vectors];
    exponential_pairs<Isa, Vectors>(keys, unit, tile, kQueries<Isa>, shift, sum, weights);
    add_to(scratch.sum);
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) { sum[v] = weights[v]; });
    add_to(scratch.total_weight);
  } else {
    exponentials<Isa, Vectors>(keys, tile, shift, sum);
    add_to(scratch.sum);
  }
}

/// valuesᵀ = valuesᵀ · factor + Vᵀ · tile, of values in tiles, for one query or all of a block.
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
                  [&](index row, index col, auto m, auto n) __attribute__((always_inline)) {
                    constexpr index kRow = n * kTileEdge;
                    alignas(64) float sums[m * kTileEdge * kRow];
                    const index query = (first + col) * kTileEdge;
                    tile_product<typename Isa::Tiles, m, n, false>(
                        steps, {value + row * kTilePairs, kTileEdge, cols * kTileEdge, kTilePairs},
                        {weights + query, kQ, kTileEdge * kQ, kTileEdge}, nullptr, sums, kRow);
                    float* const values = scratch.values + row * kTileEdge * kQ + query;
                    F factors[kRow / kW];
                    unroll<kRow / kW>([&](auto v) __attribute__((always_inline)) {
                      factors[v] = F::load_unaligned(scratch.factor + query + v * kW);
                    });
                    for (index i = 0; i < m * kTileEdge; ++i) {
                      float* const target = values + i * kQ;
                      float* const sum = sums + i * kRow;
                      unroll<kRow / kW>([&](auto v) __attribute__((always_inline)) {
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
  for_columns<Isa, Isa::kVectors>(
      cols, [&](index col, auto vectors) __attribute__((always_inline)) {
        const TileElement<Isa>* b[vectors];
        unroll<vectors>([&](auto v)
                            __attribute__((always_inline)) { b[v] = value.data + col + v * kW; });
        for (index r = begin; r < end; r += Isa::kValueRows) {
          product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kScaleAdd, 1, kQueries<Isa>>(
              std::min<index>(Isa::kValueRows, end - r), element_keys<Isa>(keys),
              reinterpret_cast<const TileElement<Isa>*>(scratch.tile) + r, 0, b, value.row,
              scratch.values + r * cols + col, cols, scratch.factor + r);
        }
      });
}

/// What is done with the exponentials along the keys of a query: dropout, and sums per distance.
template <class Isa>
void modify_weights(const AttentionHead& head, const QueryBlock& block, index key0, index keys,
                    const BlockScratch<Isa>& scratch) noexcept {
  lay_out_rows<Isa>(block, keys, scratch);
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

/// Maximum and sum of a query before its first key: the sink alone.
struct SinkStart {
  float max;
  float sum;
};

template <class Isa>
ATTN_INLINE SinkStart sink_start(const AttentionHead& head) noexcept {
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
      // A vector wholly beyond the last panel is never used; let it read the first one instead.
      unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
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
  const SinkStart sink = sink_start<Isa>(head);
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

/// Whether the largest score of query r can be taken off as an exponent, or there is none. It may
/// be −∞ with keys attended to, too: scores near the lowest float, which stand for exclusion in
/// some masks, are beyond it in units of ln 2.
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
float log_sum_exp(const AttentionHead& head, float max, float sum) noexcept {
  const SinkStart sink = sink_start<Isa>(head);
  if (max == sink.max && sum == sink.sum) return head.sink;  // no key has changed it
  return static_cast<float>(max * 0.6931471805599453 + natural_log<Isa>(sum));
}

/// Brings the values of a block into rows, for finish_query.
template <class Isa>
ATTN_INLINE void lay_out_values(const AttentionHead& head, const QueryBlock& block,
                                const BlockScratch<Isa>& scratch) noexcept {
  if constexpr (kTiles<Isa>) {
    const index cols = value_cols<Isa>(head);
    transpose<Isa>(cols, block.lanes, scratch.values, kQueries<Isa>, 1, 1.0F, scratch.outputs,
                   cols);
  }
}

/// Writes output and log-sum-exp of query r of a block. Returns whether all is finite.
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
    head.log_sum_exp[row * head.log_sum_exp_row] = log_sum_exp<Isa>(head, scratch.max[r], sum);
  }
  const float total = kPairs<Isa> ? scratch.total_weight[r] : sum;
  return write_output<Isa>(head, row, values, reciprocal_sum<Isa>(total));
}

/// Fills one stage of the scores of a finished block. Recomputes them: only who asks for the N × N
/// numbers pays for them.
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
        exponentials<Isa, 1>(keys, scratch.tile + i, max, sum);
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
    lay_out_rows<Isa>(block, keys, scratch);
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

/// Attends query `row` by itself.
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

/// The values of a tile with zeros for those that query `row` may not attend to.
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
    keep_attended<Isa>(head, row, key0, keys, row_scratch.kept);
    return {row_scratch.kept, value_cols<Isa>(head)};
  }
}

/// Takes a block through its keys in [key_begin, key_end), a part of a tile. With `chosen` only
/// these queries are done, and values that they may not attend to are not even multiplied by zero;
/// their bits are those that finite values would have given.
template <class Isa>
void attend_tile(const TileHead<Isa>& head, const QueryBlock& block, index key_begin, index key_end,
                 const bool* chosen, const BlockScratch<Isa>& scratch) noexcept {
  const index key0 = std::max(key_begin, block.key_begin);
  const index keys = std::min(key_end, block.key_end) - key0;
  if (keys <= 0) return;
  fill_tile<Isa>(head, block, key0, keys, scratch);
  const float unit = score_unit<Isa>(head);
  for_columns<Isa, Isa::kSoftmaxVectors>(
      block.lanes, [&](index col, auto vectors) __attribute__((always_inline)) {
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

/// Attends the chosen ones of queries [first, first + count) once more, because something in their
/// outputs is not finite: perhaps a weight of zero has been multiplied with an infinity or NaN that
/// is excluded.
template <class Isa>
QueryBlock attend_again(const TileHead<Isa>& head, index first, index count, const bool* chosen,
                        const BlockScratch<Isa>& scratch) noexcept {
  const QueryBlock block = begin_block<Isa>(head, first, count, scratch);
  for (index key0 = block.key_begin / Isa::kTileKeys * Isa::kTileKeys; key0 < block.key_end;
       key0 += Isa::kTileKeys) {
    prepare_tile<Isa>(head, key0, scratch);
    attend_tile<Isa>(head, block, key0, key0 + Isa::kTileKeys, chosen, scratch);
  }
  lay_out_values<Isa>(head, block, scratch);
  for (index r = 0; r < count; ++r) {
    if (chosen[r]) finish_query<Isa>(head, block, r, scratch);
  }
  return block;
}

/// Writes the stages that are asked for of a block whose outputs are written, and attends queries
/// row by row whose scores tiles cannot hold.
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

/// Writes everything that is asked for of a block that has passed over all of its keys.
template <class Isa>
void finish_block(const TileHead<Isa>& head, const QueryBlock& block, const ScoreOutput* outputs,
                  int num_outputs, const BlockScratch<Isa>& scratch) noexcept {
  bool again[kQueries<Isa>];
  bool any_again = false;
  lay_out_values<Isa>(head, block, scratch);
  for (index r = 0; r < block.count; ++r) {
    again[r] = !finish_query<Isa>(head, block, r, scratch);
    any_again |= again[r];
  }
  if (any_again) attend_again<Isa>(head, block.first, block.count, again, scratch);
  finish_scores<Isa>(head, block, outputs, num_outputs, scratch);
}

template <class Isa>
void attend(const TileHead<Isa>& head, index row_begin, index row_end, const ScoreOutput* outputs,
            int num_outputs, float* memory) noexcept {
  using Scratch = BlockScratch<Isa>;
  const auto scratch = [&](index i) {
    return Scratch(head, memory, memory + Scratch::shared_size(head) + i * Scratch::own_size(head));
  };
  for (index row = row_begin; row < row_end; row += kPassBlocks * kQueries<Isa>) {
    QueryBlock blocks[kPassBlocks];
    index count = 0;
    index key_begin = head.num_keys;
    index key_end = 0;
    for (index first = row; first < row_end && count < kPassBlocks; first += kQueries<Isa>) {
      const QueryBlock block =
          begin_block<Isa>(head, first, std::min(kQueries<Isa>, row_end - first), scratch(count));
      key_begin = std::min(key_begin, block.key_begin);
      key_end = std::max(key_end, block.key_end);
      blocks[count++] = block;
    }
    // Tiles begin at multiples of their size, whatever a block leaves out of them.
    for (index key0 = key_begin / Isa::kTileKeys * Isa::kTileKeys; key0 < key_end;
         key0 += Isa::kTileKeys) {
      prepare_tile<Isa>(head, key0, scratch(0));
      for (index i = 0; i < count; ++i) {
        attend_tile<Isa>(head, blocks[i], key0, key0 + Isa::kTileKeys, nullptr, scratch(i));
      }
    }
    for (index i = 0; i < count; ++i) {
      finish_block<Isa>(head, blocks[i], outputs, num_outputs, scratch(i));
    }
  }
}

}  // namespace attn::kernels
