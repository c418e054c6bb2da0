#pragma once

#include <algorithm>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// Vectors that a square block of a transposition is made of: Isa::Transposing if there is one,
/// else the Isa's own.
template <class Isa>
struct TransposingArch {
  using Type = typename Isa::Arch;
};
template <class Isa>
  requires requires { typename Isa::Transposing; }
struct TransposingArch<Isa> {
  using Type = typename Isa::Transposing;
};

/// to[c·to_row + r] = factor · from[r·from_row + c·from_col], for a (rows × cols) matrix.
template <class Isa>
ATTN_INLINE void transpose(index rows, index cols, const float* from, index from_row,
                           index from_col, float factor, float* to, index to_row) noexcept {
  using V = xsimd::batch<float, typename TransposingArch<Isa>::Type>;
  constexpr index kW = static_cast<index>(V::size);
  index whole_rows = 0;
  index whole_cols = 0;
  if (from_col == 1) {
    whole_rows = rows / kW * kW;
    whole_cols = cols / kW * kW;
    const V factors(factor);
    for (index r = 0; r < whole_rows; r += kW) {
      for (index c = 0; c < whole_cols; c += kW) {
        V block[kW];
        unroll<static_cast<int>(kW)>([&](auto i) __attribute__((always_inline)) {
          block[i] = V::load_unaligned(from + (r + i) * from_row + c) * factors;
        });
        xsimd::transpose(block, block + kW);
        unroll<static_cast<int>(kW)>([&](auto i) __attribute__((always_inline)) {
          block[i].store_unaligned(to + (c + i) * to_row + r);
        });
      }
    }
  }
  const auto rest = [&](index r0, index r1, index c0, index c1) {
    for (index r = r0; r < r1; ++r) {
      for (index c = c0; c < c1; ++c)
        to[c * to_row + r] = factor * from[r * from_row + c * from_col];
    }
  };
  rest(0, whole_rows, whole_cols, cols);
  rest(whole_rows, rows, 0, cols);
}

}  // namespace attn::kernels
