#pragma once

// Products of bf16 pairs on tile hardware, which has eight registers and an instruction that
// multiplies two of them and adds the product to a third. Each register has 16 rows of 64 bytes. C
// (16 × 16 floats) += A (16 rows of 16 pairs) · B (16 pairs × 16 columns).
//
// The 16 pairs of a step are summed separately before their sum is added to C, so the order of sums
// depends on where steps begin. The first step always begins at the first pair of the sum. The last
// step is padded with zeros.

#include <algorithm>
#include <type_traits>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// Number of rows of a tile. A tile has the same number of columns, counted in floats or pairs.
/// Packed panels consist of tiles.
inline constexpr index kTileEdge = kPanelWidth;
inline constexpr index kTilePairs = kTileEdge * kTileEdge;
/// Number of tiles of C that are summed together. A product has a latency of 52 cycles, and about
/// three products can start in this time.
inline constexpr int kTileGroup = 4;

/// The number of tiles that cover this many rows.
constexpr index tiles_of(index rows) noexcept { return round_up(rows, kTileEdge) / kTileEdge; }

/// Number of rows of a tile of A in a product with `rows` rows. A tile has no more rows than the
/// product.
constexpr index tile_height(index rows) noexcept { return std::min(rows, kTileEdge); }

/// Sets up the tile hardware, if there is any, for the lifetime of this object, which is one kernel
/// call. The destructor releases the registers, so that the system need not save 8 KB of state for
/// waiting threads. Other code that uses tiles on the thread sets them up itself, as calling
/// conventions require. Setup and release take about 200 cycles, and a call takes 10,000 to
/// 1,000,000.
template <class Isa>
class TileSession {
 public:
  /// Configures the hardware for tiles of A, and therefore of C, with this many rows.
  explicit TileSession(index /*rows*/) noexcept {}
};
template <class Isa>
  requires kTiles<Isa>
class TileSession<Isa> {
 public:
  explicit TileSession(index rows) noexcept { Isa::Tiles::configure(static_cast<int>(rows)); }
  ~TileSession() { Isa::Tiles::release(); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

/// The layout of the tiles of A or B; strides are in pairs.
struct TileMatrix {
  const Bf16Pair* data;
  index row;   ///< stride between the rows of a tile
  index step;  ///< stride between tiles along the depth
  index next;  ///< stride between neighbouring tiles along the rows of A or the columns of B
};

/// C = A · B, or C += A · B with Add, for M × N tiles of C, over `steps` tiles along the depth. If
/// `last_b` is not null, one more step follows, whose tiles of B are stored consecutively at
/// `last_b`.
///
/// Registers 0 to 3 hold C, 4 and 5 hold A, and 6 and 7 hold B. With 2 × 2 tiles of C, each tile of
/// A and B is loaded once per step: four loads of 8 cycles for four products of 16 cycles.
template <class Tiles, int M, int N, bool Add>
ATTN_INLINE void tile_product(index steps, TileMatrix a, TileMatrix b, const Bf16Pair* last_b,
                              float* c, index c_row) noexcept {
  static_assert(M * N <= kTileGroup);
  constexpr index kBytes = sizeof(float);
  const auto each_c = [&](auto&& body) ATTN_INLINED {
    unroll<M * N>([&](auto i)
                      ATTN_INLINED { body(i, c + i / N * kTileEdge * c_row + i % N * kTileEdge); });
  };
  const auto step = [&](const Bf16Pair* from_b, index b_next) ATTN_INLINED {
    unroll<M>([&](auto m) ATTN_INLINED {
      Tiles::template load<4 + m % 2>(a.data + m * a.next, a.row * kBytes);
      unroll<N>([&](auto n) ATTN_INLINED {
        if constexpr (m == 0 || N > 2) {
          Tiles::template load<6 + n % 2>(from_b + n * b_next, b.row * kBytes);
        }
        Tiles::template dot<m * N + n, 4 + m % 2, 6 + n % 2>();
      });
    });
  };
  each_c([&](auto i, float* tile) ATTN_INLINED {
    if constexpr (Add) {
      Tiles::template load<i>(tile, c_row * kBytes);
    } else {
      Tiles::template zero<i>();
    }
  });
  for (; steps > 0; --steps, a.data += a.step, b.data += b.step) step(b.data, b.next);
  if (last_b) step(last_b, kTilePairs);
  each_c([&](auto i, float* tile) ATTN_INLINED { Tiles::template store<i>(tile, c_row * kBytes); });
}

/// Calls body(row, col, M, N) for groups of M × N tiles that cover rows × cols tiles.
template <class Body>
ATTN_INLINE void for_tile_groups(index rows, index cols, Body&& body) noexcept {
  constexpr std::integral_constant<int, 1> kOne;
  constexpr std::integral_constant<int, 2> kTwo;
  constexpr std::integral_constant<int, kTileGroup> kAll;
  index col = 0;
  for (; rows == 1 && col + kTileGroup <= cols; col += kTileGroup) body(0, col, kOne, kAll);
  for (; col + 2 <= cols; col += 2) {
    index row = 0;
    for (; row + 2 <= rows; row += 2) body(row, col, kTwo, kTwo);
    if (row < rows) body(row, col, kOne, kTwo);
  }
  if (col == cols) return;
  index row = 0;
  for (; row + kTileGroup <= rows; row += kTileGroup) body(row, col, kAll, kOne);
  for (; row < rows; ++row) body(row, col, kOne, kOne);
}

}  // namespace attn::kernels
