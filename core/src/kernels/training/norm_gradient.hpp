#pragma once

#include <algorithm>

#include "kernels/training/part.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// Makes two passes over a row, which stays in the first-level cache. The first pass computes the
/// means of g and g ∘ x̂, and the row's contribution to the gradients of weight and bias. The
/// second pass computes dx.
template <class Isa>
void norm_gradient(const NormGradientArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index padded = round_up(p.cols, kW);
  const index whole = p.cols / kW * kW;
  const auto count = static_cast<float>(p.cols);
  for (index c = 0; c < padded; c += kW) {
    if (p.weight_gradient) F(0.0F).store_unaligned(p.weight_gradient + c);
    if (p.bias_gradient) F(0.0F).store_unaligned(p.bias_gradient + c);
  }
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x + i * p.cols;
    const float* dy = p.output_gradient + i * p.cols;
    const F mean(p.statistics[i].mean);
    const F shift(p.statistics[i].shift);
    const F factor(p.statistics[i].factor);
    const auto normal = [&](F values) ATTN_INLINED { return ((values - mean) - shift) * factor; };

    // Blocks of 64 vectors are summed separately, so that rounding errors grow slowly.
    F total(0.0F), product_total(0.0F);
    const auto add = [&](index c, F values, F gradients, F& sum, F& products) ATTN_INLINED {
      const F y = normal(values);
      const F g = gradients * F::load_unaligned(p.weight + c);
      sum += g;
      products = Isa::madd(g, y, products);
      if (p.weight_gradient) {
        float* to = p.weight_gradient + c;
        Isa::madd(gradients, y, F::load_unaligned(to)).store_unaligned(to);
      }
      if (p.bias_gradient) {
        float* to = p.bias_gradient + c;
        (F::load_unaligned(to) + gradients).store_unaligned(to);
      }
    };
    for (index begin = 0; begin < whole;) {
      const index end = std::min(whole, begin + 64 * kW);
      F sums[2] = {F(0.0F), F(0.0F)}, products[2] = {F(0.0F), F(0.0F)};
      index c = begin;
      for (; c + 2 * kW <= end; c += 2 * kW) {
        unroll<2>([&](auto k) ATTN_INLINED {
          add(c + k * kW, F::load_unaligned(x + c + k * kW), F::load_unaligned(dy + c + k * kW),
              sums[k], products[k]);
        });
      }
      if (c < end) {
        add(c, F::load_unaligned(x + c), F::load_unaligned(dy + c), sums[0], products[0]);
      }
      total += sums[0] + sums[1];
      product_total += products[0] + products[1];
      begin = end;
    }
    const index rest = p.cols - whole;
    if (rest > 0) {
      add(whole, load_part<Isa>(x + whole, rest), load_part<Isa>(dy + whole, rest), total,
          product_total);
    }
    if (!p.gradient) continue;

    const F mean_gradient(p.centred ? xsimd::reduce_add(total) / count : 0.0F);
    const F mean_product(xsimd::reduce_add(product_total) / count);
    const auto finish = [&](index c, F values, F gradients) ATTN_INLINED {
      const F g = gradients * F::load_unaligned(p.weight + c);
      return (g - mean_gradient - normal(values) * mean_product) * factor;
    };
    float* dx = p.gradient + i * p.cols;
    for (index c = 0; c < whole; c += kW) {
      finish(c, F::load_unaligned(x + c), F::load_unaligned(dy + c)).store_unaligned(dx + c);
    }
    if (rest > 0) {
      store_part<Isa>(
          finish(whole, load_part<Isa>(x + whole, rest), load_part<Isa>(dy + whole, rest)),
          dx + whole, rest);
    }
  }
}

}  // namespace attn::kernels
