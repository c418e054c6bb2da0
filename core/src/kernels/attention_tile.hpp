#pragma once

// Processes one tile of keys for a block of queries: scores, exclusion, the running softmax,
// weights · values. Tiles are (keys × queries), as described in attention.hpp. The `Tiles` of a
// kernel, one of the classes in tiles/, determine the arithmetic:
//
// - Isa, Head, Element, Scratch: the instruction set, the struct that describes a head, the type of
//   the numbers that products multiply, and the memory of a block, a BlockScratch.
// - kQueries: number of queries in a block.
// - kKeyStep: the first key of a block is a multiple of this number, counted from key 0.
// - load_queries(head, block, scratch): arranges the queries of a block; see the table below.
// - begin(head, block, sum, scratch): clears the accumulator, and starts the sums that only some
//   kinds of tiles have. begin_block has already set the maximum and the sum of each query. `sum`
//   is that sum: the sink's exponential, or 0.
// - prepare_tile(head, key0, scratch): arranges keys and values, once for all blocks of a pass.
// - score_tile(head, block, key0, keys, scratch): tile_ji = k_j · q_i.
// - score_factor(head), row_factor(head): factors of all scores; see the table below. In
//   product_tile.hpp, `row_factor` has another meaning: an array with one factor per row.
// - softmax(head, block, key0, keys, scratch): turns scores into weights, and updates maxima and
//   sums.
// - all_values(head, key0, scratch), attended_values(head, row, key0, keys, scratch): the values
//   starting at key0. The second function gives zeros for keys that query `row` may not attend to.
// - add_values(head, begin, end, keys, values, scratch): accumulator = accumulator · factor +
//   tileᵀ · V for queries [begin, end) of a block.
// - finish(head, block, scratch): arranges the outputs after the last tile. Only AmxTiles needs it,
//   because its accumulator is transposed.
// - finish_accumulator(head, r, scratch): returns the unnormalised output of query r.
// - total_weight(r, scratch): the sum of the weights of query r, by which its output is divided.
// - attend_row(head, row, outputs, num_outputs, memory): computes a query alone.
// - write_scores(head, block, outputs, num_outputs, scratch): writes the requested stages.
//
// The softmax takes scores in units of ln 2, that is, scores · log2 e. The factors scale and log2 e
// are applied as early as the arithmetic allows. If scores are not plain (1), modify_tile
// transposes them to rows, multiplied by score_factor, and back to a tile, multiplied by
// row_factor. Otherwise, PairTiles::softmax multiplies by both:
//
//   tiles              queries          score_tile          score_factor  row_factor  softmax
//   floats, plain (1)  scale · log2 e   scale · log2 e·q·k  1             1           1
//   floats, otherwise  scale            scale · q·k         1             log2 e      1
//   pairs and AMX      sign of scale    ±q·k                |scale|       log2 e      1, or (2)
//
// (1) has_plain_scores: scores are products of queries and keys, without other terms.
// (2) If scores are plain, modify_tile multiplies by nothing, and softmax multiplies by
//     |scale| · log2 e.

#include <algorithm>

#include "kernels/attention_softmax.hpp"
#include "kernels/product_tile.hpp"
#include "kernels/strided.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

/// tile_ji = key_j · query_i for `keys` rows of floats or pairs, with `depth` elements each.
template <class Isa, class Scratch>
ATTN_INLINE void multiply_keys(index lanes, index keys, index depth,
                               Strided<const TileElement<Isa>> key,
                               const Scratch& scratch) noexcept {
  constexpr index kQueries = Scratch::kQueries;
  for (index j = 0; j < keys; j += Isa::kScoreRows) {
    const index rows = std::min<index>(Isa::kScoreRows, keys - j);
    for_columns<Isa, Isa::kScoreVectors>(lanes, [&](index col, auto vectors) ATTN_INLINED {
      const TileElement<Isa>* b[vectors];
      unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = scratch.queries + col + v * kWidth<Isa>; });
      product_rows<Isa, Isa::kScoreRows, vectors, TileFinish::kStore, kAnyStride, 1>(
          rows, depth, key.at(j), key.row, b, kQueries, scratch.tile + j * kQueries + col,
          kQueries);
    });
  }
}

/// accumulator = accumulator · factor + tileᵀ · V for queries [begin, end) of a block. V has
/// `count` rows of floats or pairs.
template <class Isa, class Scratch>
ATTN_INLINE void multiply_values(index begin, index end, index count, index cols,
                                 Strided<const TileElement<Isa>> value,
                                 const Scratch& scratch) noexcept {
  for_columns<Isa, Isa::kVectors>(cols, [&](index col, auto vectors) ATTN_INLINED {
    const TileElement<Isa>* b[vectors];
    unroll<vectors>([&](auto v) ATTN_INLINED { b[v] = value.data + col + v * kWidth<Isa>; });
    for (index r = begin; r < end; r += Isa::kValueRows) {
      product_rows<Isa, Isa::kValueRows, vectors, TileFinish::kScaleAdd, 1, Scratch::kQueries>(
          std::min<index>(Isa::kValueRows, end - r), count,
          reinterpret_cast<const TileElement<Isa>*>(scratch.tile) + r, 0, b, value.row,
          scratch.accumulator + r * cols + col, cols, scratch.factor + r);
    }
  });
}

/// Transposes a tile back into scratch.rows and multiplies it by a factor.
template <class Scratch>
ATTN_INLINE void transpose_tile(const QueryBlock& block, index keys, const Scratch& scratch,
                                float factor = 1.0F) noexcept {
  transpose<typename Scratch::Isa>(keys, block.count, {scratch.tile, Scratch::kQueries}, factor,
                                   {scratch.rows, Scratch::kScoreRow});
}

/// The products of query r of a block with the Shaw table, or null.
template <class Scratch>
ATTN_INLINE const float* relative_products_of(const AttentionHead& head, index r,
                                              const Scratch& scratch) noexcept {
  return scratch.relative_products
             ? scratch.relative_products + r * relative_cols<typename Scratch::Isa>(head)
             : nullptr;
}

/// The keys of a tile that a block of queries processes.
struct TileKeys {
  index first;
  index count;
  Coverage coverage;
};

/// The keys of the tile that begins at key0, a multiple of the tile size, and whether any query of
/// the block attends to them.
template <class Tiles>
ATTN_INLINE TileKeys find_tile_keys(const AttentionHead& head, const QueryBlock& block,
                                    index key0) noexcept {
  const index first = std::max(key0, block.key_begin);
  const index count = std::min(key0 + Tiles::Isa::kTileKeys, block.key_end) - first;
  if (count <= 0) return {first, 0, Coverage::kNone};
  return {first, count,
          find_coverage<typename Tiles::Isa>(head, block.first, block.count, first, count)};
}

/// Caps, biases and excludes the scores of a tile; excluded scores are −∞. Rows of scores are
/// multiplied by score_factor and row_factor, as in the table above.
template <class Tiles>
ATTN_INLINE void modify_tile(const typename Tiles::Head& head, const QueryBlock& block,
                             const TileKeys& tile,
                             const typename Tiles::Scratch& scratch) noexcept {
  using Isa = typename Tiles::Isa;
  using Scratch = typename Tiles::Scratch;
  const auto [key0, keys, coverage] = tile;
  if (!has_plain_scores(head)) {
    transpose_tile(block, keys, scratch, Tiles::score_factor(head));
    for (index r = 0; r < block.count; ++r) {
      modify_scores<Isa>(head, block.first + r, key0, keys, relative_products_of(head, r, scratch),
                         ScoreStage::kWeights, scratch.rows + r * Scratch::kScoreRow);
    }
    transpose<Isa>(block.count, keys, {scratch.rows, Scratch::kScoreRow}, Tiles::row_factor(head),
                   {scratch.tile, Tiles::kQueries});
  }
  if (coverage == Coverage::kAll) return;
  exclude_in_tile<Isa>(head, block.first, 0, block.count, block.lanes, key0, keys, scratch.tile,
                       Tiles::kQueries);
}

/// Processes the keys of a tile. With `selected`, processes only the selected queries, with zeros
/// in place of excluded values. NaN and infinity in excluded values then do not change any bit of
/// the results.
template <class Tiles>
void attend_tile(const typename Tiles::Head& head, const QueryBlock& block, const TileKeys& tile,
                 const bool* selected, const typename Tiles::Scratch& scratch) noexcept {
  const auto [key0, keys, coverage] = tile;
  Tiles::score_tile(head, block, key0, keys, scratch);
  modify_tile<Tiles>(head, block, tile, scratch);
  Tiles::softmax(head, block, key0, keys, scratch);
  if (!selected) {
    Tiles::add_values(head, 0, block.count, keys, Tiles::all_values(head, key0, scratch), scratch);
    return;
  }
  for (index r = 0; r < block.count; ++r) {
    if (!selected[r]) continue;
    Tiles::add_values(head, r, r + 1, keys,
                      Tiles::attended_values(head, block.first + r, key0, keys, scratch), scratch);
  }
}

/// Runs `count` blocks over the keys, tile by tile; scratch_of(i) is the memory of block i. Skips
/// tiles without an attended key. They would only add zeros to the sums, which would not change a
/// single bit.
template <class Tiles, class ScratchOf>
void attend_blocks(const typename Tiles::Head& head, const QueryBlock* blocks, index count,
                   const bool* selected, ScratchOf&& scratch_of) noexcept {
  constexpr index kTileKeys = Tiles::Isa::kTileKeys;
  index key_begin = head.num_keys;
  index key_end = 0;
  for (index i = 0; i < count; ++i) {
    key_begin = std::min(key_begin, blocks[i].key_begin);
    key_end = std::max(key_end, blocks[i].key_end);
  }
  // Tiles begin at multiples of their size, even if a block skips the first keys of a tile.
  for (index key0 = key_begin / kTileKeys * kTileKeys; key0 < key_end; key0 += kTileKeys) {
    bool is_prepared = false;
    for (index i = 0; i < count; ++i) {
      const TileKeys tile = find_tile_keys<Tiles>(head, blocks[i], key0);
      if (tile.coverage == Coverage::kNone) continue;
      if (!is_prepared) Tiles::prepare_tile(head, key0, scratch_of(0));
      is_prepared = true;
      attend_tile<Tiles>(head, blocks[i], tile, selected, scratch_of(i));
    }
  }
}

}  // namespace attn::kernels
