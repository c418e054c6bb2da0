#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {

template <class Isa>
void multiply(index count, const float* a, const float* b, float* out) noexcept {
  using F = Floats<Isa>;
  index i = 0;
  for (; i + kWidth<Isa> <= count; i += kWidth<Isa>) {
    (F::load_unaligned(a + i) * F::load_unaligned(b + i)).store_unaligned(out + i);
  }
  for (; i < count; ++i) out[i] = a[i] * b[i];
}

}  // namespace attn::kernels
