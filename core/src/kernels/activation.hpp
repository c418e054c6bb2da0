#pragma once

#include <algorithm>

#include "kernels/gelu.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// out = f(x) element by element; f takes a vector. Whatever the strides, each element goes through
/// the same arithmetic.
template <class Isa, class Function>
ATTN_INLINE void map(const MapArgs& p, Function f) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x + i * p.x_row;
    float* out = p.out + i * p.out_row;
    index c = 0;
    if (p.x_col == 1 && p.out_col == 1) {
      for (; c + kW <= p.cols; c += kW) f(F::load_unaligned(x + c)).store_unaligned(out + c);
    }
    while (c < p.cols) {
      float lanes[kW] = {};
      const index count = std::min(kW, p.cols - c);
      for (index k = 0; k < count; ++k) lanes[k] = x[(c + k) * p.x_col];
      f(F::load_unaligned(lanes)).store_unaligned(lanes);
      for (index k = 0; k < count; ++k) out[(c + k) * p.out_col] = lanes[k];
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

}  // namespace attn::kernels
