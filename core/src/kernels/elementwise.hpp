#pragma once

#include "kernels/elementwise_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

template <class Isa>
void add(const ElementwiseArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* a = p.a + i * p.a_row;
    const float* b = p.b + i * p.b_row;
    float* out = p.out + i * p.out_row;
    index c = 0;
    if (p.a_col == 1 && p.b_col == 1 && p.out_col == 1) {
      for (; c + kWidth<Isa> <= p.cols; c += kWidth<Isa>) {
        (F::load_unaligned(a + c) + F::load_unaligned(b + c)).store_unaligned(out + c);
      }
    }
    for (; c < p.cols; ++c) out[c * p.out_col] = a[c * p.a_col] + b[c * p.b_col];
  }
}

}  // namespace attn::kernels
