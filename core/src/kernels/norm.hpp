#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// Σ term(j) over the vectors that begin at j = 0, width, 2·width, … < padded. Each block of 4 × 16
/// vectors is summed separately, so that rounding errors grow slowly with the length.
template <class Isa, class Term>
ATTN_INLINE float sum_of(index padded, Term term) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kSums = 4;
  F total(0.0F);
  for (index begin = 0; begin < padded;) {
    const index end = std::min(padded, begin + kSums * 16 * kW);
    F sum[kSums];
    unroll<kSums>([&](auto s) ATTN_INLINED { sum[s] = F(0.0F); });
    index j = begin;
    for (; j + kSums * kW <= end; j += kSums * kW) {
      unroll<kSums>([&](auto s) ATTN_INLINED { sum[s] += term(j + s * kW); });
    }
    for (; j < end; j += kW) sum[0] += term(j);
    total += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    begin = end;
  }
  return xsimd::reduce_add(total);
}

/// Makes two passes over each row, which is first copied to `scratch`. The first pass computes the
/// mean. The second pass computes the deviations from this mean, and the mean of these deviations
/// corrects the mean's rounding error. The result therefore stays accurate even if the mean is
/// large compared with the deviation. Without centring, deviations are measured from 0.
template <class Isa>
void norm(const NormArgs& p, float* scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index padded = round_up(p.cols, kW);
  const auto count = static_cast<float>(p.cols);
  const auto row_at = [&](index j) ATTN_INLINED { return F::load_unaligned(scratch + j); };
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x.at(i);
    float* out = p.out.at(i);
    copy_row<Isa>(p.cols, x, p.x.col, scratch, 1);
    if (p.addend) {
      const float* addend = p.addend.at(i);
      index c = 0;
      for (; p.addend.col == 1 && c + kW <= p.cols; c += kW) {
        (row_at(c) + F::load_unaligned(addend + c)).store_unaligned(scratch + c);
      }
      for (; c < p.cols; ++c) scratch[c] += addend[c * p.addend.col];
    }

    for (index c = p.cols; c < padded; ++c) scratch[c] = 0.0F;
    const float mean = p.centred ? sum_of<Isa>(padded, row_at) / count : 0.0F;
    // The padding equals the mean, so that it adds nothing to the sums of deviations.
    for (index c = p.cols; c < padded; ++c) scratch[c] = mean;
    const F means(mean);
    const auto deviation_at = [&](index j) ATTN_INLINED { return row_at(j) - means; };
    const float shift = p.centred ? sum_of<Isa>(padded, deviation_at) / count : 0.0F;
    const float square = sum_of<Isa>(padded,
                                     [&](index j) ATTN_INLINED {
                                       const F d = deviation_at(j);
                                       return d * d;
                                     }) /
                         count;
    const float variance = square - shift * shift;
    const F shifts(shift);
    const float row_factor = 1.0F / std::sqrt((variance < 0.0F ? 0.0F : variance) + p.epsilon);
    const F factor(row_factor);
    if (p.statistics) p.statistics[i] = {mean, shift, row_factor};

    const auto finish = [&](index j, const float* weight, const float* bias) ATTN_INLINED {
      const F y = (deviation_at(j) - shifts) * factor;
      if (!weight) return y;
      const F w = F::load_unaligned(weight) + F(p.weight_offset);
      return bias ? Isa::madd(y, w, F::load_unaligned(bias)) : y * w;
    };
    index j = 0;
    for (; j + kW <= p.cols; j += kW) {
      finish(j, p.weight ? p.weight + j : nullptr, p.bias ? p.bias + j : nullptr)
          .store_unaligned(scratch + j);
    }
    if (j < p.cols) {
      float weight[kW] = {};
      float bias[kW] = {};
      for (index k = j; p.weight && k < p.cols; ++k) weight[k - j] = p.weight[k];
      for (index k = j; p.bias && k < p.cols; ++k) bias[k - j] = p.bias[k];
      finish(j, p.weight ? weight : nullptr, p.bias ? bias : nullptr).store_unaligned(scratch + j);
    }
    copy_row<Isa>(p.cols, scratch, 1, out, p.out.col);
  }
}

}  // namespace attn::kernels
