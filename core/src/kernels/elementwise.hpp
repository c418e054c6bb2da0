#pragma once

#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

template <class Isa>
void add(const ElementwiseArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* a = p.a.at(i);
    const float* b = p.b.at(i);
    float* out = p.out.at(i);
    index c = 0;
    if (p.a.col == 1 && p.b.col == 1 && p.out.col == 1) {
      for (; c + kWidth<Isa> <= p.cols; c += kWidth<Isa>) {
        (F::load_unaligned(a + c) + F::load_unaligned(b + c)).store_unaligned(out + c);
      }
    }
    for (; c < p.cols; ++c) out[c * p.out.col] = a[c * p.a.col] + b[c * p.b.col];
  }
}

}  // namespace attn::kernels
