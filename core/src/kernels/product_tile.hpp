#pragma once

// The micro-kernel under every dense product: a tile of C that stays in registers while the depth
// runs by. Linear layers, scores (Q·Kᵀ) and the weighted sum of values (P·V) all end here.

#include <bit>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// How an accumulator tile begins.
enum class TileStart {
  kZero,    ///< 0
  kLoad,    ///< what C holds
  kScaled,  ///< what C holds, each row times its factor
};

/// C[Rows × Vectors·width] (+)= A[Rows × depth] · B[depth × Vectors·width].
///
/// Element (r, k) of A is a[r·ARow + k·ADepth]; vector v of row k of B is at b[v] + k·b_depth; row
/// r of C at c + r·c_row, contiguous. Each element of C is summed over k in order, one multiply-add
/// after the other, so its bits do not depend on Rows and Vectors.
template <class Isa, int Rows, int Vectors, TileStart Start, index ARow, index ADepth>
ATTN_INLINE void product_tile(index depth, const float* a, const float* const (&b)[Vectors],
                              index b_depth, float* c, index c_row,
                              const float* row_factor) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  F sum[Rows][Vectors];
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      if constexpr (Start == TileStart::kZero) {
        sum[r][v] = F(0.0F);
      } else {
        sum[r][v] = F::load_unaligned(c + r * c_row + v * kW);
        if constexpr (Start == TileStart::kScaled) sum[r][v] *= F(row_factor[r]);
      }
    });
  });
  for (index k = 0; k < depth; ++k) {
    F row[Vectors];
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      row[v] = F::load_unaligned(b[v] + k * b_depth);
    });
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      const F factor(a[r * ARow + k * ADepth]);
      unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
        sum[r][v] = Isa::madd(factor, row[v], sum[r][v]);
      });
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      sum[r][v].store_unaligned(c + r * c_row + v * kW);
    });
  });
}

/// The micro-kernel for any number of rows up to Isa::kRows: the whole tile if it fits, else tiles
/// of a power of two, so that only a few shapes are compiled. Not inlined: each exists once,
/// whoever uses it.
template <class Isa, int Vectors, TileStart Start, index ARow, index ADepth, int Rows = Isa::kRows>
__attribute__((noinline)) void product_rows(index rows, index depth, const float* a,
                                            const float* const (&b)[Vectors], index b_depth,
                                            float* c, index c_row,
                                            const float* row_factor = nullptr) noexcept {
  if (rows >= Rows) {
    product_tile<Isa, Rows, Vectors, Start, ARow, ADepth>(depth, a, b, b_depth, c, c_row,
                                                          row_factor);
    rows -= Rows;
    if (rows == 0) return;
    a += Rows * ARow;
    c += Rows * c_row;
    if constexpr (Start == TileStart::kScaled) row_factor += Rows;
  }
  if constexpr (Rows > 1) {
    constexpr int kSmaller = static_cast<int>(std::bit_floor(static_cast<unsigned>(Rows - 1)));
    product_rows<Isa, Vectors, Start, ARow, ADepth, kSmaller>(rows, depth, a, b, b_depth, c, c_row,
                                                              row_factor);
  }
}

/// Packs rows [0, rows) of A, scaled, as [depth][Isa::kRows] for the micro-kernel (ARow = 1,
/// ADepth = kRows). Rows beyond `rows` are left as they are: the micro-kernel does not read them.
template <class Isa>
ATTN_INLINE void pack_rows(index rows, index depth, const float* a, index a_row, index a_col,
                           float scale, float* packed) noexcept {
  for (index r = 0; r < rows; ++r) {
    for (index k = 0; k < depth; ++k) {
      packed[k * Isa::kRows + r] = scale * a[r * a_row + k * a_col];
    }
  }
}

/// Where vector v of a tile starts that begins at column `col` of a packed matrix: vectors may
/// reach into the next panel.
template <class Isa>
ATTN_INLINE const float* packed_column(const float* packed, index depth, index col) noexcept {
  return packed + col / kPanelWidth * kPanelWidth * depth + col % kPanelWidth;
}

}  // namespace attn::kernels
