#pragma once

// The matrix product of bf16 pairs. It uses the same blocks and tiles as the matrix product for
// float32, but its elements are pairs along the depth.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/matrix_product.hpp"
#include "kernels/product_args.hpp"

namespace attn::kernels {

/// Rounds a row of floats to pairs; writes whole vectors.
template <class Isa>
ATTN_INLINE void round_row(index count, const float* from, index from_col, Bf16Pair* to) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  for (index k = 0; k < count; k += 2 * kW, from += 2 * kW * from_col, to += kW) {
    const float* numbers = from;
    float copy[2 * kW];
    if (from_col != 1 || count - k < 2 * kW) {
      for (index i = 0; i < 2 * kW; ++i) copy[i] = k + i < count ? from[i * from_col] : 0.0F;
      numbers = copy;
    }
    store_elements<Isa>(Isa::narrow(F::load_unaligned(numbers), F::load_unaligned(numbers + kW)),
                        to);
  }
}

/// Arranges a row of bf16 numbers in pairs.
ATTN_INLINE void pair_row(index count, const std::uint16_t* from, index from_col,
                          Bf16Pair* to) noexcept {
  for (index k = 0; k < count; k += 2, ++to) {
    to->first = from[k * from_col];
    to->second = k + 1 < count ? from[(k + 1) * from_col] : std::uint16_t{0};
  }
}

/// Returns the address of row r. The quads begin at `rows`. Each quad contains two pairs of an even
/// row, then two pairs of the next row. `row`, the stride between rows of pairs, is even.
ATTN_INLINE Bf16Pair* quads_of_row(Bf16Pair* rows, index r, index row) noexcept {
  return rows + r / 2 * 2 * row + r % 2 * 2;
}

/// Writes a row of bf16 numbers to the row's half of each quad. If the number of pairs is odd, the
/// last quad is padded with zeros.
ATTN_INLINE void arrange_quads(index count, const std::uint16_t* from, index from_col,
                               Bf16Pair* to) noexcept {
  index k = 0;
  if (from_col == 1) {
    for (; k + 4 <= count; k += 4, to += 4) {
      __builtin_memcpy(to, from + k, 2 * sizeof(Bf16Pair));
    }
  }
  const auto at = [&](index i) { return i < count ? from[i * from_col] : std::uint16_t{0}; };
  for (; k < count; k += 4, to += 4) {
    to[0] = {at(k), at(k + 1)};
    to[1] = {at(k + 2), at(k + 3)};
  }
}

/// Like arrange_quads, but rounds the numbers from float to bf16 first. A row has at most
/// 2 · kDepthBlock numbers.
template <class Isa>
ATTN_INLINE void round_to_quads(index count, const float* from, index from_col,
                                Bf16Pair* to) noexcept {
  Bf16Pair pairs[kDepthBlock + kWidth<Isa>];
  round_row<Isa>(count, from, from_col, pairs);
  arrange_quads(round_up(count, 4), reinterpret_cast<const std::uint16_t*>(pairs), 1, to);
}

/// Writes the rows of A that a product copies, either as pairs or as quads. `row` is the stride
/// between rows.
template <class Isa>
struct CopiedRows {
  static ATTN_INLINE Bf16Pair* row_at(Bf16Pair* rows, index r, index row) noexcept {
    return rows + r * row;
  }
  static ATTN_INLINE void write(index count, const float* from, index from_col,
                                Bf16Pair* to) noexcept {
    round_row<Isa>(count, from, from_col, to);
  }
  static ATTN_INLINE void write(index count, const std::uint16_t* from, index from_col,
                                Bf16Pair* to) noexcept {
    pair_row(count, from, from_col, to);
  }
};
template <class Isa>
  requires kQuads<Isa>
struct CopiedRows<Isa> {
  static ATTN_INLINE Bf16Pair* row_at(Bf16Pair* rows, index r, index row) noexcept {
    return quads_of_row(rows, r, row);
  }
  static ATTN_INLINE void write(index count, const float* from, index from_col,
                                Bf16Pair* to) noexcept {
    round_to_quads<Isa>(count, from, from_col, to);
  }
  static ATTN_INLINE void write(index count, const std::uint16_t* from, index from_col,
                                Bf16Pair* to) noexcept {
    arrange_quads(count, from, from_col, to);
  }
};

/// With tile hardware, fills the last tile of each row with zeros, starting at pair `count`. Also
/// fills the rows from block.rows to the end of the last tile, which has `height` rows.
template <class Isa>
ATTN_INLINE void pad_tiles(const ProductBlock&, index, index, Bf16Pair*, index) noexcept {}
template <class Isa>
  requires kTiles<Isa>
ATTN_INLINE void pad_tiles(const ProductBlock& block, index count, index height, Bf16Pair* rows,
                           index row) noexcept {
  for (index r = 0; r < block.rows; ++r) {
    std::fill(rows + r * row + count, rows + r * row + round_up(block.depth, kTileEdge),
              Bf16Pair{});
  }
  std::fill(rows + block.rows * row, rows + round_up(block.rows, height) * row, Bf16Pair{});
}

template <class Isa>
index bf16_product_scratch(index depth) noexcept {
  return product_scratch<Isa>((depth + 1) / 2);
}

template <class Isa>
void bf16_product(const Bf16ProductArgs& p, float* scratch) noexcept {
  const index pairs = (p.depth + 1) / 2;
  [[maybe_unused]] const TileSession<Isa> session(tile_height(p.rows));
  constexpr index kWhole = kTiles<Isa> ? 2 * kTileEdge : 2;
  const bool copies = kQuads<Isa> || p.a || p.bf16_a.col != 1 || p.bf16_a.row % 2 != 0 ||
                      p.depth % kWhole != 0 || p.bf16_a.row % (2 * kCacheAlias) == 0;
  const auto copy_rows = [&](const ProductBlock& block, Bf16Pair* copy, index row) {
    using Copied = CopiedRows<Isa>;
    // The last pair may contain only one number.
    const index count = std::min(2 * block.depth, p.depth - 2 * block.k);
    for (index r = 0; r < block.rows; ++r) {
      Bf16Pair* const to = Copied::row_at(copy, r, row);
      const auto write = [&](const auto& a) {
        Copied::write(count, a.at(block.row + r, 2 * block.k), a.col, to);
      };
      p.a ? write(p.a) : write(p.bf16_a);
    }
    pad_tiles<Isa>(block, (count + 1) / 2, tile_height(p.rows), copy, row);
    return copy;
  };
  product_blocks<Isa>({p.rows, p.cols, pairs, reinterpret_cast<const Bf16Pair*>(p.bf16_a.data),
                       p.bf16_a.row / 2, p.packed_b, p.bias, p.c, false},
                      copies, copy_rows, scratch);
}

}  // namespace attn::kernels
