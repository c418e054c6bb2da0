#pragma once

// Softmax over rows with any strides. Some columns of a row may be excluded.

#include <algorithm>
#include <cmath>

#include "kernels/row_args.hpp"
#include "kernels/softmax.hpp"

namespace attn::kernels {

/// Copies the columns of row i that take part. Writes −∞ for the other columns and for the
/// elements that pad the row to whole vectors.
template <class Isa>
ATTN_INLINE void gather_row(const SoftmaxArgs& p, index i, index count, float* scores) noexcept {
  const float* x = p.x.at(i);
  const std::uint8_t* mask = p.mask ? p.mask.at(i) : nullptr;
  if (mask && p.x.col == 1 && p.mask.col == 1) {
    for (index j = 0; j < count; ++j) {
      const float value = x[j];
      scores[j] = mask[j] != 0 ? value : kMinusInfinity;
    }
  } else if (mask) {
    for (index j = 0; j < count; ++j) {
      scores[j] = mask[j * p.mask.col] != 0 ? x[j * p.x.col] : kMinusInfinity;
    }
  } else {
    copy_row<Isa>(count, x, p.x.col, scores, 1);
  }
  for (index j = count; j < round_up(count, kWidth<Isa>); ++j) scores[j] = kMinusInfinity;
}

/// Writes row i from its exponentials and their sum. If the sum is NaN, the results of the row are
/// NaN, except that excluded columns stay 0.
template <class Isa>
[[gnu::noinline]] void write_row(const SoftmaxArgs& p, index i, index count, const float* powers,
                                 float sum) noexcept {
  constexpr index kW = kWidth<Isa>;
  float* const out = p.out.at(i);
  if (std::isnan(sum)) {
    const std::uint8_t* mask = p.mask ? p.mask.at(i) : nullptr;
    for (index j = 0; j < count; ++j) {
      out[j * p.out.col] = mask && mask[j * p.mask.col] == 0 ? 0.0F : sum;
    }
  } else {
    const float factor = reciprocal_sum<Isa>(sum);
    index j = 0;
    for (; p.out.col == 1 && j + kW <= count; j += kW) {
      (Floats<Isa>::load_unaligned(powers + j) * Floats<Isa>(factor)).store_unaligned(out + j);
    }
    for (; j < count; ++j) out[j * p.out.col] = powers[j] * factor;
  }
}

template <class Isa>
void masked_softmax(const SoftmaxArgs& p, float* scratch) noexcept {
  for (index i = 0; i < p.rows; ++i) {
    const index count = p.lengths ? p.lengths[i * p.length_row] : p.cols;
    if (count > 0) {
      gather_row<Isa>(p, i, count, scratch);
      const index padded = round_up(count, kWidth<Isa>);
      const float shift = max_or_zero<Isa>(max_of<Isa>(scratch, padded));
      const float sum = exp_all<Isa>(scratch, padded, shift, 1.0F);
      write_row<Isa>(p, i, count, scratch, sum);
    }
    float* const out = p.out.at(i);
    if (p.out.col == 1) {
      std::fill(out + count, out + p.cols, 0.0F);
    } else {
      for (index j = count; j < p.cols; ++j) out[j * p.out.col] = 0.0F;
    }
  }
}

}  // namespace attn::kernels
