#pragma once

// The building blocks of a softmax over one row of scores. Rows are padded to whole vectors with
// −∞.

#include <limits>

#include "kernels/simd.hpp"

namespace attn::kernels {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr float kLog2E = 1.44269504F;

template <class Isa>
ATTN_INLINE float max_of(const float* x, index padded_count) noexcept {
  using F = Floats<Isa>;
  F largest = F::load_unaligned(x);
  for (index j = kWidth<Isa>; j < padded_count; j += kWidth<Isa>) {
    largest = xsimd::max(F::load_unaligned(x + j), largest);
  }
  return xsimd::reduce_max(largest);
}

/// x_j = exp(x_j − shift) · factor; returns the sum.
template <class Isa>
float exp_all(float* x, index padded_count, float shift, float factor) noexcept {
  using F = Floats<Isa>;
  const F shifts(shift);
  const F log2e(kLog2E);
  const F factors(factor);
  F sum(0.0F);
  for (index j = 0; j < padded_count; j += kWidth<Isa>) {
    const F e = exp2_nonpositive<Isa>((F::load_unaligned(x + j) - shifts) * log2e) * factors;
    e.store_unaligned(x + j);
    sum += e;
  }
  return xsimd::reduce_add(sum);
}

template <class Isa>
ATTN_INLINE float exp_scalar(float x) noexcept {
  return exp2_nonpositive<Isa>(Floats<Isa>(x * kLog2E)).get(0);
}

/// The number subtracted before exp: the maximum, or 0 for a row that has no keys yet.
template <class Isa>
ATTN_INLINE float max_or_zero(float row_max) noexcept {
  return row_max == kMinusInfinity ? 0 : row_max;
}

/// The factor that turns a row's exponentials into weights; 0 for a row without any key.
template <class Isa>
ATTN_INLINE float reciprocal_sum(float row_sum) noexcept {
  return row_sum == 0.0F ? 0.0F : 1.0F / row_sum;
}

}  // namespace attn::kernels
