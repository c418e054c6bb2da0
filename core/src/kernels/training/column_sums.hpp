#pragma once

#include <algorithm>

#include "kernels/training/part.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// Sums blocks of 64 rows separately, so that rounding errors grow slowly with the number of rows.
template <class Isa>
void column_sums(const ColumnSumsArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kBlock = 64;
  const auto row = [&](index i) ATTN_INLINED { return p.x + (p.which ? p.which[i] : i) * p.x_row; };
  // Sums `count` vectors of columns at once. `load` reads a whole or partial vector, and `store`
  // writes one.
  const auto sum_columns = [&](index c, auto load, auto store, auto count) ATTN_INLINED {
    constexpr int kN = count;
    F total[kN];
    for (F& t : total) t = F(0.0F);
    for (index begin = 0; begin < p.rows; begin += kBlock) {
      const index end = std::min(begin + kBlock, p.rows);
      F sum[kN];
      for (F& s : sum) s = F(0.0F);
      for (index i = begin; i < end; ++i) {
        const float* x = row(i) + c;
        unroll<kN>([&](auto n) ATTN_INLINED { sum[n] += load(x + n * kW); });
      }
      unroll<kN>([&](auto n) ATTN_INLINED { total[n] += sum[n]; });
    }
    unroll<kN>([&](auto n) ATTN_INLINED {
      float* to = p.sums + c + n * kW;
      F sum = total[n] * F(p.factor);
      if (p.more) sum += load(to);
      store(sum, to);
    });
  };
  const auto load = [](const float* from) ATTN_INLINED { return F::load_unaligned(from); };
  const auto store = [](F x, float* to) ATTN_INLINED { x.store_unaligned(to); };
  index c = 0;
  for (; c + 4 * kW <= p.cols; c += 4 * kW) {
    sum_columns(c, load, store, std::integral_constant<int, 4>{});
  }
  for (; c < p.cols; c += kW) {
    const index rest = p.cols - c;
    sum_columns(
        c, [&](const float* from) ATTN_INLINED { return load_up_to<Isa>(from, rest); },
        [&](F x, float* to) ATTN_INLINED { store_up_to<Isa>(x, to, rest); },
        std::integral_constant<int, 1>{});
  }
}

}  // namespace attn::kernels
