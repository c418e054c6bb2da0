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

/// to_cr = factor · from_rc, for a (rows × cols) matrix `from`. The columns of `to` are contiguous.
///
/// Writes whole vectors, so `to` must have room for one more vector after its end, and gaps between
/// its rows are overwritten.
template <class Isa>
ATTN_INLINE void transpose_inlined(index rows, index cols, Strided<const float> from, float factor,
                                   Strided<float> to) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  if (from.col != 1 || cols < 4) {
    for (index r = 0; r < rows; ++r) {
      for (index c = 0; c < cols; ++c) *to.at(c, r) = factor * *from.at(r, c);
    }
    return;
  }
  const F factors(factor);
  // Runs from the last rows to the first: a block writes beyond the ends of its columns into the
  // beginning of the next columns, which the first rows then overwrite.
  for (index r = (rows - 1) / kW * kW; r >= 0; r -= kW) {
    const float* row[kW];
    for (index i = 0; i < kW; ++i) row[i] = from.at(std::min(r + i, rows - 1));
    for (index next = 0; next < cols; next += 4) {
      const index c = std::min(next, cols - 4);
      F columns[4];
      load_columns<Isa>(row, c, columns);
      unroll<4>([&](auto i)
                    ATTN_INLINED { (columns[i] * factors).store_unaligned(to.at(c + i, r)); });
    }
  }
}

/// Like transpose_inlined, for callers that transpose whole blocks.
template <class Isa>
__attribute__((noinline)) void transpose(index rows, index cols, Strided<const float> from,
                                         float factor, Strided<float> to) noexcept {
  transpose_inlined<Isa>(rows, cols, from, factor, to);
}

}  // namespace attn::kernels
