#pragma once

// The micro-kernel of every dense product: a tile of C stays in registers while it sums over the
// depth. Linear layers, scores (Q·Kᵀ) and the weighted sum of values (P·V) all use it.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// How a tile's sums are written to C.
enum class TileFinish {
  kStore,     ///< C = sums
  kAdd,       ///< C = C + sums
  kScaleAdd,  ///< C = C·factor + sums, where each row has a factor
  kScale,     ///< C = sums·factor
};

/// A template argument for strides that are known only at run time.
inline constexpr index kAnyStride = 0;

/// Whether the vectors in a row of B are contiguous (kAdjacent) or not (kSeparate).
enum class TileColumns { kAdjacent, kSeparate };
/// The TileColumns of a packed matrix, whose rows are contiguous within a panel. A tile that is no
/// wider than a panel never spans two panels.
template <class Isa, int Vectors>
inline constexpr TileColumns kPackedColumns =
    Vectors * kWidth<Isa> <= kPanelWidth ? TileColumns::kAdjacent : TileColumns::kSeparate;

/// Writes a vector of the sums in a tile's row to C. `row_factor` is null if rows have no factors.
template <class Isa, TileFinish Finish>
ATTN_INLINE void finish_sums(Floats<Isa> sum, float* target, const float* row_factor,
                             int row) noexcept {
  using F = Floats<Isa>;
  if constexpr (Finish == TileFinish::kAdd) sum += F::load_unaligned(target);
  if constexpr (Finish == TileFinish::kScaleAdd) {
    sum = Isa::madd(F::load_unaligned(target), F(row_factor[row]), sum);
  }
  if constexpr (Finish == TileFinish::kScale) sum *= F(row_factor[row]);
  sum.store_unaligned(target);
}

/// Computes sums[Rows × Vectors·width] = A[Rows × depth] · B[depth × Vectors·width] and writes them
/// to C.
///
/// Element (r, k) of A is a[r·ARow + k·ADepth]; vector v of row k of B is at b[v] + k·b_depth; row
/// r of C is contiguous and begins at c + r·c_row. `row_factor` has one factor per row. Each sum is
/// formed over k in order, one multiply-add after another, so it is bit-identical for all values of
/// Rows and Vectors. With products of pairs, A, B and depth are all counted in pairs.
template <class Isa, int Rows, int Vectors, TileFinish Finish, index ARow, index ADepth,
          TileColumns Columns>
  requires(!kQuads<Isa>)
ATTN_INLINE void product_tile(index depth, const TileElement<Isa>* a, index a_row,
                              const TileElement<Isa>* const (&b)[Vectors], index b_depth, float* c,
                              index c_row, const float* row_factor) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kSteps = Isa::kSteps;
  // Strides have the width of a pointer. With 64-bit strides, Emscripten's compiler would multiply
  // by the strides inside the loop.
  const auto row = static_cast<std::ptrdiff_t>(ARow == kAnyStride ? a_row : ARow);
  const auto b_stride = static_cast<std::ptrdiff_t>(b_depth);
  constexpr auto kAStride = static_cast<std::ptrdiff_t>(ADepth);
  constexpr bool kAdjacent = Columns == TileColumns::kAdjacent;
  const TileElement<Isa>* columns[kAdjacent ? 1 : Vectors];
  std::copy_n(b, std::size(columns), columns);
  F sum[Rows][Vectors];
  unroll<Rows>([&](auto r) ATTN_INLINED {
    unroll<Vectors>([&](auto v) ATTN_INLINED { sum[r][v] = F(0.0F); });
  });
  const auto step = [&](auto i) ATTN_INLINED {
    F row_of_b[Vectors];
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      row_of_b[v] =
          load_elements<Isa>(kAdjacent ? columns[0] + v * kW : columns[kAdjacent ? 0 : v]);
    });
    // With a single row, memory limits the speed, and each vector is read once. The processor's own
    // prefetching stops at the end of a page, so the next tile's vectors are prefetched here, to
    // the second-level cache. `npm run bench -- --native token` measures the effect on decoding.
    if constexpr (Rows == 1 && Vectors == 2 && !kAdjacent) {
      const std::ptrdiff_t next = 2 * (b[1] - b[0]);
      unroll<2>([&](auto v) ATTN_INLINED { __builtin_prefetch(columns[v] + next, 0, 2); });
    }
    for (const TileElement<Isa>*& column : columns) column += b_stride;
    unroll<Rows>([&](auto r) ATTN_INLINED {
      const F factor = broadcast_element<Isa>(a[r * row + i * kAStride]);
      unroll<Vectors>([&](auto v) ATTN_INLINED {
        sum[r][v] = multiply_add<Isa>(factor, row_of_b[v], sum[r][v]);
      });
    });
  };
  for (; depth >= kSteps; depth -= kSteps, a += kSteps * kAStride) unroll<kSteps>(step);
  for (; depth > 0; --depth, a += kAStride) unroll<1>(step);
  unroll<Rows>([&](auto r) ATTN_INLINED {
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      finish_sums<Isa, Finish>(sum[r][v], c + r * c_row + v * kW, row_factor, r);
    });
  });
}

// A quad is a vector with two pairs of a row of A (or of a column of B), consecutive along the
// depth, followed by two pairs of the next row (or column). With pairs p_ck of column c at depth k:
//
//   two vectors of B   p_0k      p_1k      p_2k      p_3k
//                      p_0,k+1   p_1,k+1   p_2,k+1   p_3,k+1
//   two quads          p_0k      p_0,k+1   p_1k      p_1,k+1     columns 0 and 1: zip_lo
//                      p_2k      p_2,k+1   p_3k      p_3,k+1     columns 2 and 3: zip_hi
//
// Multiplying a quad of rows 0 and 1 by both quads gives two squares of sums. Each half of a square
// is a part of a row:
//
//   two squares        c_00   c_01   c_10   c_11     c_02   c_03   c_12   c_13
//   two rows           c_00   c_01   c_02   c_03     the lower halves: zip_lo of doubles
//                      c_10   c_11   c_12   c_13     the upper halves: zip_hi of doubles

/// Makes two quads from the pairs at `pairs` and at `pairs + stride`. Zeros replace the second
/// vector if the depth ends after the first.
template <class Isa, bool HasSecond>
ATTN_INLINE void load_quads(const Bf16Pair* pairs, index stride, Floats<Isa>& low,
                            Floats<Isa>& high) noexcept {
  const Floats<Isa> first = load_elements<Isa>(pairs);
  Floats<Isa> second(0.0F);
  if constexpr (HasSecond) second = load_elements<Isa>(pairs + stride);
  low = xsimd::zip_lo(first, second);
  high = xsimd::zip_hi(first, second);
}

/// Row 0 or 1 of two squares of sums.
template <class Isa, int Row>
ATTN_INLINE Floats<Isa> row_of_squares(Floats<Isa> left, Floats<Isa> right) noexcept {
  const auto a = bits_as<double>(left), b = bits_as<double>(right);
  return bits_as<float>(Row == 0 ? xsimd::zip_lo(a, b) : xsimd::zip_hi(a, b));
}

/// Computes the same sums as the function above, but with quads. If the depth of A is contiguous
/// (ADepth = 1), A is already stored as quads: for even r and k, the quad at a + r·a_row + 2k
/// contains pairs k and k + 1 of rows r and r + 1. a_row is even, and an odd depth is padded with
/// zeros. Otherwise this function makes the quads of A from two vectors of pairs. The quads of B
/// are always made in this way.
template <class Isa, int Rows, int Vectors, TileFinish Finish, index ARow, index ADepth,
          TileColumns Columns>
  requires kQuads<Isa>
ATTN_INLINE void product_tile(index depth, const TileElement<Isa>* a, index a_row,
                              const TileElement<Isa>* const (&b)[Vectors], index b_depth, float* c,
                              index c_row, const float* row_factor) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  static_assert(kW == 4 && (ADepth == 1 || ARow == 1));
  constexpr int kRowPairs = (Rows + 1) / 2;
  constexpr bool kAdjacent = Columns == TileColumns::kAdjacent;
  const Bf16Pair* columns[kAdjacent ? 1 : Vectors];
  std::copy_n(b, std::size(columns), columns);
  F squares[kRowPairs][2 * Vectors];
  unroll<kRowPairs>([&](auto r) ATTN_INLINED {
    unroll<2 * Vectors>([&](auto v) ATTN_INLINED { squares[r][v] = F(0.0F); });
  });
  // Adds the products at two positions along the depth. If the depth is odd, the last step has only
  // one position.
  const auto step = [&](auto has_second) ATTN_INLINED {
    F b_quads[2 * Vectors];
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      const Bf16Pair* vector = kAdjacent ? columns[0] + v * kW : columns[kAdjacent ? 0 : v];
      load_quads<Isa, has_second>(vector, b_depth, b_quads[2 * v], b_quads[2 * v + 1]);
    });
    for (const Bf16Pair*& column : columns) column += 2 * b_depth;
    const auto add_row_pair = [&](auto r, F a_quad) ATTN_INLINED {
      unroll<2 * Vectors>([&](auto v) ATTN_INLINED {
        squares[r][v] = Isa::dot_quads(a_quad, b_quads[v], squares[r][v]);
      });
    };
    if constexpr (ADepth == 1) {
      unroll<kRowPairs>(
          [&](auto r) ATTN_INLINED { add_row_pair(r, load_elements<Isa>(a + 2 * r * a_row)); });
      a += 4;
    } else {
      unroll<(kRowPairs + 1) / 2>([&](auto i) ATTN_INLINED {
        F low, high;
        load_quads<Isa, has_second>(a + 4 * i, ADepth, low, high);
        add_row_pair(std::integral_constant<int, 2 * i>{}, low);
        if constexpr (2 * i + 1 < kRowPairs) {
          add_row_pair(std::integral_constant<int, 2 * i + 1>{}, high);
        }
      });
      a += 2 * ADepth;
    }
  };
  for (; depth >= 2; depth -= 2) step(std::true_type{});
  if (depth > 0) step(std::false_type{});
  unroll<Rows>([&](auto r) ATTN_INLINED {
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      const F row = row_of_squares<Isa, r % 2>(squares[r / 2][2 * v], squares[r / 2][2 * v + 1]);
      finish_sums<Isa, Finish>(row, c + r * c_row + v * kW, row_factor, r);
    });
  });
}

/// The micro-kernel for any number of rows up to Rows: the whole tile if it fits, otherwise tiles
/// whose number of rows is a power of two, so that only a few shapes are compiled. It is not
/// inlined, so that each shape exists only once.
template <class Isa, int Rows, int Vectors, TileFinish Finish, index ARow, index ADepth,
          TileColumns Columns = TileColumns::kAdjacent>
__attribute__((noinline)) void product_rows(index rows, index depth, const TileElement<Isa>* a,
                                            index a_row,
                                            const TileElement<Isa>* const (&b)[Vectors],
                                            index b_depth, float* c, index c_row,
                                            const float* row_factor = nullptr) noexcept {
  if (rows >= Rows) {
    product_tile<Isa, Rows, Vectors, Finish, ARow, ADepth, Columns>(depth, a, a_row, b, b_depth, c,
                                                                    c_row, row_factor);
    rows -= Rows;
    if (rows == 0) return;
    a += Rows * (ARow == kAnyStride ? a_row : ARow);
    c += Rows * c_row;
    if constexpr (Finish == TileFinish::kScaleAdd || Finish == TileFinish::kScale) {
      row_factor += Rows;
    }
  }
  if constexpr (Rows > 1) {
    constexpr int kSmaller = static_cast<int>(std::bit_floor(static_cast<unsigned>(Rows - 1)));
    product_rows<Isa, kSmaller, Vectors, Finish, ARow, ADepth, Columns>(
        rows, depth, a, a_row, b, b_depth, c, c_row, row_factor);
  }
}

/// The start of vector v in a tile that begins at column `col` of a packed matrix. Vectors may
/// reach into the next panel.
template <class Isa>
ATTN_INLINE const TileElement<Isa>* packed_column(const TileElement<Isa>* packed, index depth,
                                                  index col) noexcept {
  return packed + col / kPanelWidth * kPanelWidth * depth + col % kPanelWidth;
}

/// Divides `cols` columns into tiles of kVectors vectors, and the remaining columns into tiles of
/// smaller powers of two. Calls body(col, vectors) for each tile.
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

}  // namespace attn::kernels
