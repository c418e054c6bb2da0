#pragma once

#include "kernels/simd.hpp"
#include "kernels/training/part.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// Calls body(x) for one vector of elements after another. x[0] … x[N − 2] are vectors of the
/// arrays, which are stored back after the call, and x[N − 1] is the vector of the gradient.
template <class Isa, int N, class F>
ATTN_INLINE void update_vectors(index count, float* const (&arrays)[N - 1], const float* gradient,
                                F&& body) noexcept {
  using Vector = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  Vector x[N];
  const auto each = [&](auto&& step) ATTN_INLINED { unroll<N - 1>(step); };
  index i = 0;
  for (; i + kW <= count; i += kW) {
    each([&](auto n) ATTN_INLINED { x[n] = Vector::load_unaligned(arrays[n] + i); });
    x[N - 1] = Vector::load_unaligned(gradient + i);
    body(x);
    each([&](auto n) ATTN_INLINED { x[n].store_unaligned(arrays[n] + i); });
  }
  if (i == count) return;
  const index rest = count - i;
  each([&](auto n) ATTN_INLINED { x[n] = load_part<Isa>(arrays[n] + i, rest); });
  x[N - 1] = load_part<Isa>(gradient + i, rest);
  body(x);
  each([&](auto n) ATTN_INLINED { store_part<Isa>(x[n], arrays[n] + i, rest); });
}

template <class Isa>
void sgd(const SgdArgs& p) noexcept {
  using F = Floats<Isa>;
  if (!p.momentum_buffer) {
    update_vectors<Isa, 2>(p.count, {p.values}, p.gradient, [&](F(&x)[2]) ATTN_INLINED {
      const F gradient = Isa::madd(x[0], F(p.weight_decay), x[1]);
      x[0] -= F(p.learning_rate) * gradient;
    });
    return;
  }
  update_vectors<Isa, 3>(
      p.count, {p.values, p.momentum_buffer}, p.gradient, [&](F(&x)[3]) ATTN_INLINED {
        const F gradient = Isa::madd(x[0], F(p.weight_decay), x[2]);
        x[1] = Isa::madd(x[1], F(p.buffer_factor), gradient * F(p.gradient_factor));
        const F step = p.nesterov ? Isa::madd(x[1], F(p.momentum), gradient) : x[1];
        x[0] -= F(p.learning_rate) * step;
      });
}

/// Each average moves towards the gradient or its square by the fraction 1 − β of the distance. 1 −
/// β is rounded to float once, which is much more accurate than subtracting a float β from one.
template <class Isa>
void adam(const AdamArgs& p) noexcept {
  using F = Floats<Isa>;
  update_vectors<Isa, 4>(
      p.count, {p.values, p.average, p.square_average}, p.gradient, [&](F(&x)[4]) ATTN_INLINED {
        const F gradient = Isa::madd(x[0], F(p.gradient_decay), x[3]);
        x[1] = Isa::madd(gradient - x[1], F(p.average_rate), x[1]);
        x[2] = Isa::madd(gradient * gradient - x[2], F(p.square_rate), x[2]);
        const F root = Isa::madd(xsimd::sqrt(x[2]), F(p.root_factor), F(p.epsilon));
        const F step = divide<Isa>(F(p.step_size) * x[1], root);
        x[0] -= Isa::madd(x[0], F(p.value_decay), step);
      });
}

}  // namespace attn::kernels
