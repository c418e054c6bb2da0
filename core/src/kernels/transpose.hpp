#pragma once

#include <algorithm>

#include "kernels/simd.hpp"
#include "kernels/strided.hpp"

namespace attn::kernels {

/// Loads four columns of a matrix with as many rows as a vector has lanes; row i begins at rows[i].
template <class Isa>
ATTN_INLINE void load_columns(const float* const (&rows)[kWidth<Isa>], index col,
                              Floats<Isa> (&columns)[4]) noexcept {
  if constexpr (kWidth<Isa> == 4) {
    unroll<4>([&](auto i)
                  ATTN_INLINED { columns[i] = Floats<Isa>::load_unaligned(rows[i] + col); });
    xsimd::transpose(columns, columns + 4);
  } else {
    Isa::load_columns(rows, col, columns);
  }
}

/// Implements transpose(). Its matrices are separate arguments, because a struct would be passed in
/// memory.
template <class Isa>
void transpose_rows(index rows, index cols, const float* from, index from_row, index from_col,
                    float factor, float* to, index to_row) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  if (from_col != 1 || cols < 4) {
    for (index r = 0; r < rows; ++r) {
      for (index c = 0; c < cols; ++c)
        to[c * to_row + r] = factor * from[r * from_row + c * from_col];
    }
    return;
  }
  const F factors(factor);
  // Processes the last rows first. Each block writes whole vectors, and so may write past the end
  // of a column of `to` into the beginning of the next column. The blocks of the first rows later
  // overwrite those numbers.
  for (index r = (rows - 1) / kW * kW; r >= 0; r -= kW) {
    const float* row[kW];
    for (index i = 0; i < kW; ++i) row[i] = from + std::min(r + i, rows - 1) * from_row;
    for (index next = 0; next < cols; next += 4) {
      const index c = std::min(next, cols - 4);
      F columns[4];
      load_columns<Isa>(row, c, columns);
      unroll<4>([&](auto i) ATTN_INLINED {
        (columns[i] * factors).store_unaligned(to + (c + i) * to_row + r);
      });
    }
  }
}

/// to_cr = factor · from_rc, for a (rows × cols) matrix `from`. The columns of `to` are contiguous.
///
/// Writes whole vectors, so `to` must have room for one more vector after its end, and gaps between
/// its rows are overwritten.
template <class Isa>
ATTN_INLINE void transpose(index rows, index cols, Strided<const float> from, float factor,
                           Strided<float> to) noexcept {
  transpose_rows<Isa>(rows, cols, from.data, from.row, from.col, factor, to.data, to.row);
}

}  // namespace attn::kernels
