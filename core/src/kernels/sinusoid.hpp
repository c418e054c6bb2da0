#pragma once

// Tables of sin(2π·(f_c·p + offset_c)) for columns c and positions p, with a frequency f_c in turns
// per position and an offset of 0 for a sine or 1/4 for a cosine. Sines and cosines are thus
// treated alike, wherever the layout puts them. All arithmetic is in double precision; a value is
// rounded once, when it is stored.

#include <algorithm>

#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"
#include "positions/sine_series.hpp"

namespace attn::kernels {

template <class Isa>
using Doubles = xsimd::batch<double, typename Isa::Arch>;

/// Number of vectors of floats in a tile of the rotated table. A row of a tile consists of whole
/// cache lines of the output, as many as fit in the registers.
template <class Isa>
inline constexpr int kSinusoidVectors = kWidth<Isa> >= 16 ? 4 : static_cast<int>(16 / kWidth<Isa>);

/// cos(2πz) for any z, computed as sin(2π·(1/4 − |z|)). A sine is computed as a cosine a quarter
/// turn earlier. At position 0 z is therefore −1/4, for which the result is exactly 0.
template <class Isa>
ATTN_INLINE Doubles<Isa> cosine_of_turns(Doubles<Isa> z) noexcept {
  using D = Doubles<Isa>;
  z -= xsimd::nearbyint(z);
  const D w = D(0.25) - xsimd::abs(z);
  const D square = w * w;
  D sum(kSineSeries.back());
  unroll<static_cast<int>(kSineSeries.size()) - 1>([&](auto k) ATTN_INLINED {
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

/// The start values of `count` columns of rotated_sinusoids: at the anchor and one step before it.
/// This is a separate function that is not unrolled, because its code is long and it runs for few
/// rows only.
template <class Isa>
void first_sinusoids(const SinusoidColumns& columns, index col, index count, double anchor,
                     double* values, double* values_before) noexcept {
  using D = Doubles<Isa>;
  for (index c = 0; c < count; c += static_cast<index>(D::size)) {
    const D turns =
        turns_at<Isa>(columns, col + c, D(anchor)) + D::load_unaligned(columns.offset + col + c);
    const D step_cos = D::load_unaligned(columns.step_cos + col + c);
    const D step_sin = D::load_unaligned(columns.step_sin + col + c);
    const D value = cosine_of_turns<Isa>(turns - D(0.25));
    value.store_aligned(values + c);
    Isa::msub(step_cos, value, step_sin * cosine_of_turns<Isa>(turns))
        .store_aligned(values_before + c);
  }
}

/// Computes columns [col, col + Vectors·width) of rotated_sinusoids, up to `end`.
///
/// With θ the angle of a step, sin(a + θ) = 2·cos θ·sin a − sin(a − θ): one multiply-add per value,
/// whether it is a sine or a cosine. Errors grow with the square of the number of steps, but only
/// to 64² · 1.1e-16, because first_sinusoids() computes one start value by rotating the other by
/// one step.
template <class Isa, int Vectors, bool Whole>
ATTN_INLINE void rotated_tile(const SinusoidColumns& columns, index col, index end, double anchor,
                              index skip, index rows, float* out, index out_row,
                              index out_col) noexcept {
  using D = Doubles<Isa>;
  constexpr index kHalf = static_cast<index>(D::size);
  alignas(64) double values[2 * Vectors * kHalf];
  alignas(64) double values_before[2 * Vectors * kHalf];
  first_sinusoids<Isa>(columns, col, 2 * Vectors * kHalf, anchor, values, values_before);
  D value[2 * Vectors];
  D before[2 * Vectors];
  D factor[2 * Vectors];
  unroll<2 * Vectors>([&](auto v) ATTN_INLINED {
    value[v] = D::load_aligned(values + v * kHalf);
    before[v] = D::load_aligned(values_before + v * kHalf);
    const D step_cos = D::load_unaligned(columns.step_cos + col + v * kHalf);
    factor[v] = step_cos + step_cos;
  });
  // `other` contains the row before `now`, and receives the row after `now`.
  const auto advance = [&](D(&now)[2 * Vectors], D(&other)[2 * Vectors]) ATTN_INLINED {
    unroll<2 * Vectors>([&](auto v)
                            ATTN_INLINED { other[v] = Isa::msub(factor[v], now[v], other[v]); });
  };
  const auto store = [&](const D(&now)[2 * Vectors]) ATTN_INLINED {
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      const Floats<Isa> narrow = Isa::narrow(now[2 * v], now[2 * v + 1]);
      float* target = out + v * kWidth<Isa> * out_col;
      if constexpr (Whole) {
        narrow.store_unaligned(target);
      } else {
        store_columns<Isa>(narrow, target, out_col, end - col - v * kWidth<Isa>);
      }
    });
    out += out_row;
  };
  index i = 0;
  for (; i + 2 <= skip; i += 2) {
    advance(value, before);
    advance(before, value);
  }
  if (i < skip) {
    advance(value, before);
    std::swap(value, before);
  }
  for (i = 0; i + 2 <= rows; i += 2) {
    store(value);
    advance(value, before);
    store(before);
    advance(before, value);
  }
  if (i < rows) store(value);
}

template <class Isa>
void rotated_sinusoids(const SinusoidColumns& columns, double anchor, index skip, index rows,
                       float* out, index out_row, index out_col) noexcept {
  constexpr int kVectors = kSinusoidVectors<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kLine = 64 / sizeof(float);
  // Wide tiles write whole cache lines if possible. Otherwise a line is written in two passes, and
  // other rows may evict it from the cache in between.
  index head = 0;
  if (out_col == 1 && out_row % kLine == 0) {
    head = static_cast<index>(-reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % kLine);
  }
  for (index col = 0; col < columns.count;) {
    if (out_col == 1 && col >= head && col + kVectors * kW <= columns.count) {
      rotated_tile<Isa, kVectors, true>(columns, col, columns.count, anchor, skip, rows, out + col,
                                        out_row, 1);
      col += kVectors * kW;
    } else {
      const index end = std::min(columns.count, col < head ? head : columns.count);
      rotated_tile<Isa, 1, false>(columns, col, end, anchor, skip, rows, out + col * out_col,
                                  out_row, out_col);
      col = std::min(col + kW, end);
    }
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
      unroll<2>([&](auto v) ATTN_INLINED {
        const index c = col + v * kHalf;
        half[v] = cosine_of_turns<Isa>(turns_at<Isa>(columns, c, D(positions[i])) +
                                       D::load_unaligned(columns.offset + c) - D(0.25)) *
                  D(columns.amplitude);
      });
      store_columns<Isa>(Isa::narrow(half[0], half[1]), out + i * out_row + col * out_col, out_col,
                         columns.count - col);
    }
  }
}

}  // namespace attn::kernels
