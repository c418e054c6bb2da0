#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {

/// tanh x for every x: ±1 for ±∞, NaN for NaN, −0 for −0. Relative error at most 3e-7.
///
/// Up to |x| = 0.6, evaluates an odd polynomial (minimax in relative error, 3e-9). Beyond 0.6,
/// evaluates 1 − 2t/(1 + t) with t = exp(−2|x|), where nothing cancels.
template <class Isa>
ATTN_INLINE Floats<Isa> tanh(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  const F magnitude = xsimd::abs(x);
  const F square = magnitude * magnitude;
  F p(-5.8951564e-3F);
  p = Isa::madd(p, square, F(2.0795971e-2F));
  p = Isa::madd(p, square, F(-5.3783830e-2F));
  p = Isa::madd(p, square, F(1.3331924e-1F));
  p = Isa::madd(p, square, F(-3.3333299e-1F));
  const F small = Isa::madd(magnitude * square, p, magnitude);

  const F t = exp2_nonpositive<Isa>(magnitude * F(-2.8853901F));  // −2·log2 e
  const F large = F(1.0F) - divide<Isa>(t + t, F(1.0F) + t);
  return xsimd::select(magnitude < F(0.6F), small, large) | xsimd::bitofsign(x);
}

/// 1 / (1 + exp(−x)) for every x, NaN for NaN; zero below −88. Relative error at most 4e-7 for x ≥
/// 0, and 4e-7 + 7e-8·|x| for x < 0, which includes the error of exp.
template <class Isa>
ATTN_INLINE Floats<Isa> sigmoid(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  const F t = exp2_nonpositive<Isa>(xsimd::abs(x) * F(-1.4426950F));  // −log2 e
  return divide<Isa>(xsimd::select(x < F(0.0F), t, F(1.0F)), F(1.0F) + t);
}

}  // namespace attn::kernels
