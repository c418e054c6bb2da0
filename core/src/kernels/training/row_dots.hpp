#pragma once

#include "kernels/simd.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

template <class Isa>
void row_dots(const RowDotsArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* a = p.a.at(i);
    const float* b = p.b.at(i);
    index c = 0;
    F sums(0.0F);
    if (p.a.col == 1 && p.b.col == 1) {
      for (; c + kWidth<Isa> <= p.cols; c += kWidth<Isa>) {
        sums = Isa::madd(F::load_unaligned(a + c), F::load_unaligned(b + c), sums);
      }
    }
    float sum = xsimd::reduce_add(sums);
    for (; c < p.cols; ++c) sum += a[c * p.a.col] * b[c * p.b.col];
    p.sums[i] = sum;
  }
}

}  // namespace attn::kernels
