#pragma once

// Tables of sin(2π·(f_c·p + offset_c)) for columns c and positions p, with a frequency f_c in turns
// per position and an offset of 0 for a sine or 1/4 for a cosine: so sines and cosines are alike,
// wherever the layout puts them. All arithmetic is in double precision; a value is rounded once,
// when it is stored.

#include <algorithm>

#include "kernels/simd.hpp"
#include "sine_series.hpp"

namespace attn::kernels {

template <class Isa>
using Doubles = xsimd::batch<double, typename Isa::Arch>;

/// Vectors of floats in a tile of the rotated table. Each takes 6 registers: two halves of doubles
/// with their value, the one before, and a factor.
template <class Isa>
inline constexpr int kSinusoidVectors = Isa::kRows* Isa::kVectors >= 20 ? 4 : 2;

/// cos(2πz) for any z, by reduction to sin(2π·(1/4 − |z|)), which is exact for the z of a sine at
/// position 0.
template <class Isa>
ATTN_INLINE Doubles<Isa> cosine_of_turns(Doubles<Isa> z) noexcept {
  using D = Doubles<Isa>;
  z -= xsimd::nearbyint(z);
  const D w = D(0.25) - xsimd::abs(z);
  const D square = w * w;
  D sum(kSineSeries.back());
  unroll<static_cast<int>(kSineSeries.size()) - 1>([&](auto k) __attribute__((always_inline)) {
    sum = Isa::madd(sum, square, D(kSineSeries[kSineSeries.size() - 2 - k]));
  });
  return sum * w;
}

/// f·p reduced to [−1/2, 1/2].
template <class Isa>
ATTN_INLINE Doubles<Isa> turns_at(const SinusoidColumns& columns, index col,
                                  Doubles<Isa> position) noexcept {
  const Doubles<Isa> turns = Doubles<Isa>::load_unaligned(columns.frequency + col) * position;
  return turns - xsimd::nearbyint(turns);
}

/// Stores `count` ≤ width floats.
template <class Isa>
ATTN_INLINE void store_columns(Floats<Isa> values, float* out, index out_col,
                               index count) noexcept {
  if (count >= kWidth<Isa> && out_col == 1) {
    values.store_unaligned(out);
    return;
  }
  alignas(64) float lanes[kWidth<Isa>];
  values.store_aligned(lanes);
  for (index i = 0; i < std::min(count, kWidth<Isa>); ++i) out[i * out_col] = lanes[i];
}

/// Columns [col, col + Vectors·width) of rotated_sinusoids.
///
/// With θ the angle of a step, sin(a + θ) = 2·cos θ·sin a − sin(a − θ): one multiply-add per value,
/// no matter whether it is a sine or a cosine. Errors grow with the square of the steps taken, 64²
/// · 1.1e-16 at most, because both values it starts from lie on one circle.
template <class Isa, int Vectors, bool Whole>
ATTN_INLINE void rotated_tile(const SinusoidColumns& columns, index col, double anchor, index skip,
                              index rows, float* out, index out_row, index out_col) noexcept {
  using D = Doubles<Isa>;
  constexpr index kHalf = static_cast<index>(D::size);
  D value[2 * Vectors];
  D before[2 * Vectors];
  D factor[2 * Vectors];
  unroll<2 * Vectors>([&](auto v) __attribute__((always_inline)) {
    const index c = col + v * kHalf;
    const D turns = turns_at<Isa>(columns, c, D(anchor)) + D::load_unaligned(columns.offset + c);
    const D step_cos = D::load_unaligned(columns.step_cos + c);
    const D step_sin = D::load_unaligned(columns.step_sin + c);
    value[v] = cosine_of_turns<Isa>(turns - D(0.25));
    before[v] = Isa::msub(step_cos, value[v], step_sin * cosine_of_turns<Isa>(turns));
    factor[v] = step_cos + step_cos;
  });
  const auto advance = [&]() __attribute__((always_inline)) {
    unroll<2 * Vectors>([&](auto v) __attribute__((always_inline)) {
      const D next = Isa::msub(factor[v], value[v], before[v]);
      before[v] = value[v];
      value[v] = next;
    });
  };
  for (index i = 0; i < skip; ++i) advance();
  for (index i = 0; i < rows; ++i) {
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
      const Floats<Isa> narrow = Isa::narrow(value[2 * v], value[2 * v + 1]);
      float* target = out + v * kWidth<Isa> * out_col;
      if constexpr (Whole) {
        narrow.store_unaligned(target);
      } else {
        store_columns<Isa>(narrow, target, out_col, columns.count - col - v * kWidth<Isa>);
      }
    });
    out += out_row;
    advance();
  }
}

template <class Isa>
void rotated_sinusoids(const SinusoidColumns& columns, double anchor, index skip, index rows,
                       float* out, index out_row, index out_col) noexcept {
  constexpr int kVectors = kSinusoidVectors<Isa>;
  constexpr index kW = kWidth<Isa>;
  index col = 0;
  if (out_col == 1) {
    for (; col + kVectors * kW <= columns.count; col += kVectors * kW) {
      rotated_tile<Isa, kVectors, true>(columns, col, anchor, skip, rows, out + col, out_row, 1);
    }
  }
  for (; col < columns.count; col += kW) {
    rotated_tile<Isa, 1, false>(columns, col, anchor, skip, rows, out + col * out_col, out_row,
                                out_col);
  }
}

template <class Isa>
void sinusoids(const SinusoidColumns& columns, const double* positions, index rows, float* out,
               index out_row, index out_col) noexcept {
  using D = Doubles<Isa>;
  constexpr index kHalf = static_cast<index>(D::size);
  for (index i = 0; i < rows; ++i) {
    for (index col = 0; col < columns.count; col += kWidth<Isa>) {
      D half[2];
      unroll<2>([&](auto v) __attribute__((always_inline)) {
        const index c = col + v * kHalf;
        half[v] = cosine_of_turns<Isa>(turns_at<Isa>(columns, c, D(positions[i])) +
                                       D::load_unaligned(columns.offset + c) - D(0.25));
      });
      store_columns<Isa>(Isa::narrow(half[0], half[1]), out + i * out_row + col * out_col, out_col,
                         columns.count - col);
    }
  }
}

}  // namespace attn::kernels
