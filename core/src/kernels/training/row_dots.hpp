#pragma once

#include "kernels/simd.hpp"
#include "kernels/training/row_dots_args.hpp"

namespace attn::kernels {

template <class Isa>
void row_dots(const RowDotsArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* a = p.a + i * p.a_row;
    const float* b = p.b + i * p.b_row;
    index c = 0;
    F sums(0.0F);
    if (p.a_col == 1 && p.b_col == 1) {
      for (; c + kWidth<Isa> <= p.cols; c += kWidth<Isa>) {
        sums = Isa::madd(F::load_unaligned(a + c), F::load_unaligned(b + c), sums);
      }
    }
    float sum = xsimd::reduce_add(sums);
    for (; c < p.cols; ++c) sum += a[c * p.a_col] * b[c * p.b_col];
    p.sums[i] = sum;
  }
}

}  // namespace attn::kernels
