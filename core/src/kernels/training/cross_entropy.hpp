#pragma once

#include <algorithm>

#include "kernels/logarithm.hpp"
#include "kernels/norm.hpp"
#include "kernels/softmax.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// x_j = exp(x_j − shift); returns the sum. Each block of 64 vectors is added to four partial
/// sums, and the sums of the blocks are added in double precision, so rounding errors do not grow
/// with the length.
template <class Isa>
double exp_and_sum(float* x, index padded, float shift) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kSums = 4;
  constexpr index kBlock = 16 * kSums * kW;
  double total = 0;
  for (index begin = 0; begin < padded; begin += kBlock) {
    const index end = std::min(padded, begin + kBlock);
    F sums[kSums];
    unroll<kSums>([&](auto s) ATTN_INLINED { sums[s] = F(0.0F); });
    const auto step = [&](index j, auto vectors) ATTN_INLINED {
      F e[vectors], rounder[vectors], lowest[vectors];
      unroll<vectors>([&](auto s) ATTN_INLINED {
        e[s] = (F::load_unaligned(x + j + s * kW) - F(shift)) * F(kLog2E);
        rounder[s] = F(kExponentRounder);
        lowest[s] = F(-127.0F);
      });
      exp2_shifted<Isa, vectors>(e, rounder, lowest);
      unroll<vectors>([&](auto s) ATTN_INLINED {
        e[s].store_unaligned(x + j + s * kW);
        sums[s] += e[s];
      });
    };
    index j = begin;
    for (; j + kSums * kW <= end; j += kSums * kW) step(j, std::integral_constant<int, kSums>{});
    for (; j < end; j += kW) step(j, std::integral_constant<int, 1>{});
    total += static_cast<double>(xsimd::reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

template <class Isa>
void cross_entropy(const CrossEntropyArgs& p, float* scratch) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index padded = round_up(p.cols, kW);
  const index whole = p.cols / kW * kW;
  const auto cols = static_cast<double>(p.cols);
  const auto constant = static_cast<float>(p.factor * p.smoothing / cols);
  const auto of_target = static_cast<float>(p.factor * (1 - p.smoothing));
  for (index i = 0; i < p.rows; ++i) {
    const index target = p.targets[i];
    float* gradient = p.gradient ? p.gradient + i * p.cols : nullptr;
    if (target < 0) {
      p.losses[i] = 0;
      if (gradient) std::fill_n(gradient, p.cols, 0.0F);
      continue;
    }
    const float* x = p.x.at(i);
    copy_row<Isa>(p.cols, x, p.x.col, scratch, 1);
    for (index c = p.cols; c < padded; ++c) scratch[c] = kMinusInfinity;
    const float largest = max_of<Isa>(scratch, padded);
    const auto below = [&](float logit) ATTN_INLINED {
      return static_cast<double>(logit) - static_cast<double>(largest);
    };
    double mean = 0;
    if (p.smoothing > 0) {
      mean = sum_of<Isa>(
          whole, [&](index c) ATTN_INLINED { return F::load_unaligned(scratch + c) - F(largest); });
      for (index c = whole; c < p.cols; ++c) mean += below(scratch[c]);
      mean /= cols;
    }
    const double target_below = below(scratch[target]);
    const double sum = exp_and_sum<Isa>(scratch, padded, largest);
    const double log_sum = natural_log<Isa>(sum);
    p.losses[i] = log_sum - (p.smoothing > 0 ? (1 - p.smoothing) * target_below + p.smoothing * mean
                                             : target_below);
    if (!gradient) continue;
    const auto factor = static_cast<float>(p.factor / sum);
    index c = 0;
    for (; c < whole; c += kW) {
      Isa::madd(F::load_unaligned(scratch + c), F(factor), F(-constant))
          .store_unaligned(gradient + c);
    }
    if (c < p.cols) {
      Isa::madd(F::load_unaligned(scratch + c), F(factor), F(-constant))
          .store_unaligned(scratch + c);
      for (; c < p.cols; ++c) gradient[c] = scratch[c];
    }
    gradient[target] -= of_target;
  }
}

}  // namespace attn::kernels
