#pragma once

#include <algorithm>

#include "attn/layers/activation.hpp"
#include "kernels/gelu.hpp"
#include "kernels/tanh.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// exp(−|x|) and 1/(1 + exp(−|x|)). Their product is sigmoid(−|x|) without cancellation.
template <class F>
struct SigmoidParts {
  F t, r;
};
template <class Isa>
ATTN_INLINE SigmoidParts<Floats<Isa>> sigmoid_parts(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  const F t = exp2_nonpositive<Isa>(xsimd::abs(x) * F(-1.4426950F));  // −log2 e
  return {t, divide<Isa>(F(1.0F), F(1.0F) + t)};
}

/// Clamps x to [−limit, limit]. Beyond this interval, a slope already has the value that it
/// approaches at infinity, and computing it at ±∞ would give 0·∞ = NaN.
template <class Isa>
ATTN_INLINE Floats<Isa> within(Floats<Isa> x, float limit) noexcept {
  using F = Floats<Isa>;
  return xsimd::select(x > F(limit), F(limit), xsimd::select(x < F(-limit), F(-limit), x));
}

// These structs compute value = f(x), with the arithmetic of the forward pass, and dx = f'(x) · dy.

struct ReluGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    value = Isa::at_least(x, F(0.0F));
    dx = xsimd::select(x <= F(0.0F), F(0.0F), dy);
  }
};

struct GeluGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    const auto d = normal_distribution<Isa>(x);
    value = x * d.below;
    const F density = d.bell * F(0.39894228F);  // 1/√(2π)
    dx = dy * Isa::madd(xsimd::select(x < F(0.0F), -d.t, d.t), density, d.below);
  }
};

struct GeluTanhGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    const F near = within<Isa>(x, 14.0F);
    const F square = near * near;
    const auto [t, r] =
        sigmoid_parts<Isa>(near * Isa::madd(square, F(0.071354814F), F(1.5957691F)));
    const F s = xsimd::select(x < F(0.0F), t * r, r);
    value = gelu_tanh<Isa>(x);
    dx = dy * Isa::madd(near * Isa::madd(square, F(0.21406444F), F(1.5957691F)), t * r * r, s);
  }
};

struct SiluGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    const F near = within<Isa>(x, 90.0F);
    const auto [t, r] = sigmoid_parts<Isa>(near);
    const F s = xsimd::select(x < F(0.0F), t * r, r);
    value = x * sigmoid<Isa>(x);
    dx = dy * Isa::madd(near, t * r * r, s);
  }
};

struct TanhGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    const auto [t, r] = sigmoid_parts<Isa>(x + x);
    value = tanh<Isa>(x);
    dx = dy * (F(4.0F) * t * r * r);
  }
};

struct SigmoidGradient {
  template <class Isa, class F = Floats<Isa>>
  static ATTN_INLINE void apply(F x, F dy, F& value, F& dx) noexcept {
    const auto [t, r] = sigmoid_parts<Isa>(x);
    value = sigmoid<Isa>(x);
    dx = dy * (t * r * r);
  }
};

/// Computes dx = f'(x) · dy and, if requested, value = f(x), for contiguous whole vectors.
using ActivationGradientVectors = void (*)(index count, const float* x, const float* dy,
                                           float* value, float* dx) noexcept;

template <class Isa, class Function>
void activation_gradient_vectors(index count, const float* x, const float* dy, float* value,
                                 float* dx) noexcept {
  using F = Floats<Isa>;
  for (index c = 0; c < count; c += kWidth<Isa>) {
    F y, slope;
    Function::template apply<Isa>(F::load_unaligned(x + c), F::load_unaligned(dy + c), y, slope);
    if (value) y.store_unaligned(value + c);
    slope.store_unaligned(dx + c);
  }
}

template <class Isa>
void activation_gradient(const ActivationGradientArgs& p,
                         ActivationGradientVectors differentiate) noexcept {
  constexpr index kW = kWidth<Isa>;
  // Without a factor, whole vectors are read and written in place.
  const index whole = !p.factor && p.gradient ? p.count / kW * kW : 0;
  differentiate(whole, p.x, p.output_gradient, nullptr, p.gradient);
  for (index c = whole; c < p.count; c += kGathered) {
    const index n = std::min(kGathered, p.count - c);
    float x[kGathered] = {}, dy[kGathered] = {}, value[kGathered], dx[kGathered];
    for (index i = 0; i < n; ++i) {
      x[i] = p.x[c + i];
      dy[i] = p.output_gradient[c + i];
      if (p.factor) dy[i] *= p.factor[c + i];
    }
    differentiate(round_up(n, kW), x, dy, p.factor_gradient ? value : nullptr, dx);
    for (index i = 0; i < n; ++i) {
      if (p.factor_gradient) p.factor_gradient[c + i] = p.output_gradient[c + i] * value[i];
      if (p.gradient) p.gradient[c + i] = dx[i];
    }
  }
}

template <class Isa, class Function>
void activation_gradient(const ActivationGradientArgs& p) noexcept {
  activation_gradient<Isa>(p, &activation_gradient_vectors<Isa, Function>);
}

/// The kernel of an activation's gradient, or null if there is no such activation.
template <class Isa>
ActivationGradientKernel choose_activation_gradient(Activation activation) noexcept {
  switch (activation) {
    case Activation::kRelu:
      return &activation_gradient<Isa, ReluGradient>;
    case Activation::kGelu:
      return &activation_gradient<Isa, GeluGradient>;
    case Activation::kGeluTanh:
      return &activation_gradient<Isa, GeluTanhGradient>;
    case Activation::kSilu:
      return &activation_gradient<Isa, SiluGradient>;
    case Activation::kTanh:
      return &activation_gradient<Isa, TanhGradient>;
    case Activation::kSigmoid:
      return &activation_gradient<Isa, SigmoidGradient>;
  }
  return nullptr;
}

}  // namespace attn::kernels
