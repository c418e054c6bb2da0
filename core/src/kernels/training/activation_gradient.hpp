#pragma once

#include <algorithm>

#include "kernels/gelu.hpp"
#include "kernels/tanh.hpp"
#include "kernels/training/part.hpp"
#include "kernels/training/training_table.hpp"

namespace attn::kernels {

/// exp(−|x|) and 1/(1 + exp(−|x|)): their product is sigmoid(−|x|), nothing cancels.
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

/// x in [−limit, limit]: beyond it slopes have reached theirs at infinity, and 0·∞ would be NaN.
template <class Isa>
ATTN_INLINE Floats<Isa> within(Floats<Isa> x, float limit) noexcept {
  using F = Floats<Isa>;
  return xsimd::select(x > F(limit), F(limit), xsimd::select(x < F(-limit), F(-limit), x));
}

// What follows gives value = f(x), by the arithmetic of the forward pass, and dx = f'(x) · dy.

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

template <class Isa, class Function>
void activation_gradient(const ActivationGradientArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  for (index c = 0; c < p.count; c += kW) {
    const index n = std::min(kW, p.count - c);
    const auto load = [&](const float* from) __attribute__((always_inline)) {
      return n == kW ? F::load_unaligned(from + c) : load_part<Isa>(from + c, n);
    };
    const auto store = [&](F values, float* to) __attribute__((always_inline)) {
      if (n == kW) {
        values.store_unaligned(to + c);
      } else {
        store_part<Isa>(values, to + c, n);
      }
    };
    const F x = load(p.x);
    const F dy = load(p.output_gradient);
    F value, dx;
    if (p.factor) {
      Function::template apply<Isa>(x, dy * load(p.factor), value, dx);
      if (p.factor_gradient) store(dy * value, p.factor_gradient);
    } else {
      Function::template apply<Isa>(x, dy, value, dx);
    }
    if (p.gradient) store(dx, p.gradient);
  }
}

}  // namespace attn::kernels
