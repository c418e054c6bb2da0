#pragma once

#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

template <class Isa>
void dropout(const DropoutArgs& p) noexcept {
  using F = Floats<Isa>;
  using W = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  index i = 0;
  if (p.x_col == 1 && p.out_col == 1) {
    // Values up to 2^24 fit in signed integers, which every instruction set can compare.
    const auto drop_below = xsimd::as_integer_t<F>(static_cast<std::int32_t>(p.drop_below));
    for (; i + kWidth<Isa> <= p.count; i += kWidth<Isa>) {
      const W words = W::load_unaligned(p.words + i) >> 8;
      const auto drops =
          xsimd::batch_bool_cast<float>(xsimd::bitwise_cast<std::int32_t>(words) < drop_below);
      const F kept = F::load_unaligned(p.x + i) * F(p.factor);
      xsimd::select(drops, F(0.0F), kept).store_unaligned(p.out + i);
    }
  }
  for (; i < p.count; ++i) {
    const float kept = p.x[i * p.x_col] * p.factor;
    p.out[i * p.out_col] = p.words[i] >> 8 < p.drop_below ? 0.0F : kept;
  }
}

}  // namespace attn::kernels
