#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {

/// Computes sixteen independent sums, so that every instruction set adds in the same order. The
/// compiler vectorises the sums, because the kernels cannot convert floats to vectors of doubles.
template <class Isa>
double sum_of_squares(index count, const float* a, const float* b) noexcept {
  constexpr index kSums = 16;
  double sums[kSums] = {};
  const auto add = [&](index i, index lane) ATTN_INLINED {
    const double x =
        b ? static_cast<double>(a[i]) - static_cast<double>(b[i]) : static_cast<double>(a[i]);
    sums[lane] += x * x;
  };
  index i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (index lane = 0; lane < kSums; ++lane) add(i + lane, lane);
  }
  for (index lane = 0; i + lane < count; ++lane) add(i + lane, lane);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class Isa>
void scaled_difference(index count, float factor, const float* a, const float* b,
                       float* out) noexcept {
  using F = Floats<Isa>;
  index i = 0;
  for (; i + kWidth<Isa> <= count; i += kWidth<Isa>) {
    F x = F::load_unaligned(a + i);
    if (b) x -= F::load_unaligned(b + i);
    (F(factor) * x).store_unaligned(out + i);
  }
  for (; i < count; ++i) out[i] = factor * (b ? a[i] - b[i] : a[i]);
}

}  // namespace attn::kernels
