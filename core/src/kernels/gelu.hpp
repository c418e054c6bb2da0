#pragma once

#include "kernels/simd.hpp"
#include "kernels/tanh.hpp"

namespace attn::kernels {

/// The normal distribution at x: t = min(|x|, 14), bell = exp(−t²/2), and the distribution function
/// `below`.
template <class F>
struct NormalDistribution {
  F t, bell, below;
};

/// Uses Q(t) = 1 − Φ(t) = exp(−t²/2)·p(s)/(t + 4), where t = |x| and s = (t − 4)/(t + 4). The
/// polynomial p approximates a function that is smooth over all t ≥ 0. It has degree 9 and is
/// minimax in relative error over [0, 14]; the error is 2.6e-8 with coefficients in float. From
/// 13.2 on, exp is zero.
template <class Isa>
ATTN_INLINE NormalDistribution<Floats<Isa>> normal_distribution(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  const F magnitude = xsimd::abs(x);
  const F t = xsimd::select(magnitude > F(14.0F), F(14.0F), magnitude);
  const F reciprocal = divide<Isa>(F(1.0F), t + F(4.0F));
  const F s = (t - F(4.0F)) * reciprocal;
  F p(-1.29529319e-4F);
  p = Isa::madd(p, s, F(1.84628007e-4F));
  p = Isa::madd(p, s, F(1.57185842e-3F));
  p = Isa::madd(p, s, F(-3.51498136e-3F));
  p = Isa::madd(p, s, F(-7.52672693e-3F));
  p = Isa::madd(p, s, F(6.04041442e-2F));
  p = Isa::madd(p, s, F(-1.86523179e-1F));
  p = Isa::madd(p, s, F(3.87136877e-1F));
  p = Isa::madd(p, s, F(-6.07896626e-1F));
  p = Isa::madd(p, s, F(7.55285144e-1F));
  // −log2(e)/2 · t²
  const F bell = exp2_nonpositive<Isa>(t * t * F(-0.72134752F));
  const F tail = bell * (p * reciprocal);
  return {t, bell, xsimd::select(x < F(0.0F), tail, F(1.0F) - tail)};
}

/// x·Φ(x), where Φ is the distribution function of the normal distribution. It equals x·(1 +
/// erf(x/√2))/2, but computing Φ directly avoids the cancellation at negative x.
///
/// Relative error at most 5e-7 + 6e-8·x² for x < 0 (from the error of exp) and 3e-7 for x ≥ 0. The
/// result is zero from −13.2 downwards. NaN and −∞ give NaN, as in PyTorch.
template <class Isa>
ATTN_INLINE Floats<Isa> gelu(Floats<Isa> x) noexcept {
  return x * normal_distribution<Isa>(x).below;
}

/// x·(1 + tanh(u))/2 = x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³): the approximation of GELU that
/// PyTorch calls `approximate="tanh"`.
template <class Isa>
ATTN_INLINE Floats<Isa> gelu_tanh(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  // The constants are 2·√(2/π)·0.044715 and 2·√(2/π).
  const F inner = Isa::madd(x * x, F(0.071354814F), F(1.5957691F));
  return x * sigmoid<Isa>(x * inner);
}

}  // namespace attn::kernels
