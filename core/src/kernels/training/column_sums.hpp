#pragma once

#include <algorithm>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// Blocks of 64 rows are summed by themselves, so that rounding grows slowly with their number.
template <class Isa>
void column_sums(const ColumnSumsArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kBlock = 64;
  index c = 0;
  for (; c + kW <= p.cols; c += kW) {
    F total(0.0F);
    for (index begin = 0; begin < p.rows; begin += kBlock) {
      const index end = std::min(begin + kBlock, p.rows);
      F sum(0.0F);
      for (index i = begin; i < end; ++i) sum += F::load_unaligned(p.x + i * p.x_row + c);
      total += sum;
    }
    total.store_unaligned(p.sums + c);
  }
  for (; c < p.cols; ++c) {
    float total = 0;
    for (index begin = 0; begin < p.rows; begin += kBlock) {
      const index end = std::min(begin + kBlock, p.rows);
      float sum = 0;
      for (index i = begin; i < end; ++i) sum += p.x[i * p.x_row + c];
      total += sum;
    }
    p.sums[c] = total;
  }
}

}  // namespace attn::kernels
