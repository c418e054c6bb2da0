#pragma once

#include <algorithm>

#include "kernels/attention_args.hpp"
#include "kernels/logarithm.hpp"
#include "kernels/softmax.hpp"

namespace attn::kernels {

/// out = weight_a · a + weight_b · b. A part whose log-sum-exp is −∞ is null and is not read.
template <class Isa>
ATTN_INLINE void merge_row(const MergeArgs& p, const float* a, float weight_a, const float* b,
                           float weight_b, float* out) noexcept {
  using F = Floats<Isa>;
  if (!a || !b) {
    const float* from = a ? a : b;
    const index col = a ? p.a.col : p.b.col;
    // The part that is not null has weight 1.
    for (index c = 0; c < p.cols; ++c) out[c * p.out.col] = from ? from[c * col] : 0.0F;
    return;
  }
  index c = 0;
  if (p.a.col == 1 && p.b.col == 1 && p.out.col == 1) {
    const F of_a(weight_a), of_b(weight_b);
    for (; c + kWidth<Isa> <= p.cols; c += kWidth<Isa>) {
      Isa::madd(of_a, F::load_unaligned(a + c), of_b * F::load_unaligned(b + c))
          .store_unaligned(out + c);
    }
  }
  for (; c < p.cols; ++c) {
    out[c * p.out.col] = weight_a * a[c * p.a.col] + weight_b * b[c * p.b.col];
  }
}

template <class Isa>
void merge(const MergeArgs& p) noexcept {
  for (index i = 0; i < p.rows; ++i) {
    const float of_a = p.log_sum_exp_a[i * p.log_sum_exp_a_row];
    const float of_b = p.log_sum_exp_b[i * p.log_sum_exp_b_row];
    const float max = of_b > of_a ? of_b : of_a;
    const float shift = max_or_zero<Isa>(max);
    const float exp_a = exp_scalar<Isa>(of_a - shift);
    const float exp_b = exp_scalar<Isa>(of_b - shift);
    const float sum = exp_a + exp_b;
    const bool any_a = of_a != kMinusInfinity, any_b = of_b != kMinusInfinity;
    const float weight_a = any_a ? exp_a / sum : 0.0F;
    const float weight_b = any_b ? exp_b / sum : 0.0F;
    if (p.out) {
      merge_row<Isa>(p, any_a ? p.a.at(i) : nullptr, weight_a, any_b ? p.b.at(i) : nullptr,
                     weight_b, p.out.at(i));
    }
    if (p.log_sum_exp) {
      p.log_sum_exp[i * p.log_sum_exp_row] = static_cast<float>(
          static_cast<double>(max) + natural_log<Isa>(static_cast<double>(exp_a) + exp_b));
    }
    if (p.weights) {
      p.weights[2 * i] = weight_a;
      p.weights[2 * i + 1] = weight_b;
    }
  }
}

}  // namespace attn::kernels
