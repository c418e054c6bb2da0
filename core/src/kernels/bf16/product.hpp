#pragma once

// The matrix product of bf16 pairs. It uses the blocks and tiles of the product of floats, but its
// elements are pairs along the depth.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/bf16/product_args.hpp"
#include "kernels/matrix_product.hpp"

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

template <class Isa>
index bf16_product_scratch(index depth) noexcept {
  return product_scratch<Isa>((depth + 1) / 2);
}

template <class Isa>
void bf16_product(const Bf16ProductArgs& p, float* scratch) noexcept {
  const index pairs = (p.depth + 1) / 2;
  [[maybe_unused]] const TileSession<Isa> session(tile_height(p.rows));
  constexpr index kWhole = kTiles<Isa> ? 2 * kTileEdge : 2;
  const bool copies = kQuads<Isa> || p.a || p.a_col != 1 || p.a_row % 2 != 0 ||
                      p.depth % kWhole != 0 || p.a_row % (2 * kCacheAlias) == 0;
  const auto copy_rows = [&](const ProductBlock& block, Bf16Pair* copy, index row) {
    // The last pair may contain only one number.
    const index count = std::min(2 * block.depth, p.depth - 2 * block.k);
    for (index r = 0; r < block.rows; ++r) {
      const index from = (block.row + r) * p.a_row + 2 * block.k * p.a_col;
      if constexpr (kQuads<Isa>) {
        Bf16Pair* const to = quads_of_row(copy, r, row);
        p.a ? round_to_quads<Isa>(count, p.a + from, p.a_col, to)
            : arrange_quads(count, p.bf16_a + from, p.a_col, to);
      } else if (p.a) {
        round_row<Isa>(count, p.a + from, p.a_col, copy + r * row);
      } else {
        pair_row(count, p.bf16_a + from, p.a_col, copy + r * row);
      }
      if constexpr (kTiles<Isa>) {
        std::fill(copy + r * row + (count + 1) / 2,
                  copy + r * row + round_up(block.depth, kTileEdge), Bf16Pair{});
      }
    }
    if constexpr (kTiles<Isa>) {
      const index rows = round_up(block.rows, tile_height(p.rows));
      std::fill(copy + block.rows * row, copy + rows * row, Bf16Pair{});
    }
  };
  product_blocks<Isa>({p.rows, p.cols, pairs, reinterpret_cast<const Bf16Pair*>(p.bf16_a),
                       p.a_row / 2, p.packed_b, p.bias, p.c, p.c_row, p.c_col, false},
                      copies, copy_rows, scratch);
}

}  // namespace attn::kernels
