#pragma once

#include <algorithm>

#include "kernels/gelu.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// out = f(x), or f(x) · factor, element by element; f takes a vector. Whatever the strides, each
/// element goes through the same arithmetic.
template <class Isa, class Function>
ATTN_INLINE void map(const MapArgs& p, Function f) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const bool side_by_side = p.x_col == 1 && p.out_col == 1 && (!p.factor || p.factor_col == 1);
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x + i * p.x_row;
    const float* factor = p.factor ? p.factor + i * p.factor_row : nullptr;
    float* out = p.out + i * p.out_row;
    index c = 0;
    for (; side_by_side && c + kW <= p.cols; c += kW) {
      F y = f(F::load_unaligned(x + c));
      if (factor) y *= F::load_unaligned(factor + c);
      y.store_unaligned(out + c);
    }
    while (c < p.cols) {
      float lanes[kW] = {};
      const index count = std::min(kW, p.cols - c);
      for (index k = 0; k < count; ++k) lanes[k] = x[(c + k) * p.x_col];
      f(F::load_unaligned(lanes)).store_unaligned(lanes);
      for (index k = 0; k < count; ++k) {
        out[(c + k) * p.out_col] = factor ? lanes[k] * factor[(c + k) * p.factor_col] : lanes[k];
      }
      c += count;
    }
  }
}

template <class Isa>
void relu_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return Isa::at_least(x, F(0.0F)); });
}

template <class Isa>
void gelu_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return gelu<Isa>(x); });
}

template <class Isa>
void gelu_tanh_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return gelu_tanh<Isa>(x); });
}

template <class Isa>
void silu_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return x * sigmoid<Isa>(x); });
}

template <class Isa>
void tanh_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return tanh<Isa>(x); });
}

template <class Isa>
void sigmoid_all(const MapArgs& p) noexcept {
  using F = Floats<Isa>;
  map<Isa>(p, [](F x) __attribute__((always_inline)) { return sigmoid<Isa>(x); });
}

}  // namespace attn::kernels
