#pragma once

// The bf16 instructions of aarch64 in plain C++, for kernels that use any type of vector with four
// floats. They are in an anonymous namespace because each file that includes this header is
// compiled for a different instruction set.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

/// Rounds a double to float with rounding to odd. Flushes subnormal results to zero and replaces
/// every NaN with the same NaN. A double that was itself rounded to odd gives the same result as
/// the exact number.
float rounded_to_odd(double x) noexcept {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (std::abs(x) < 0x1p-126) return std::copysign(0.0F, static_cast<float>(x));
  if (std::abs(x) >= 0x1p128) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(x));
  }
  constexpr std::uint64_t kDropped = (1ULL << 29) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exact = static_cast<float>(std::bit_cast<double>(bits & ~kDropped));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(exact) |
                              static_cast<std::uint32_t>((bits & kDropped) != 0));
}

/// The value that an operation uses for x: zero if x is subnormal, and x otherwise.
double taken(float x) noexcept {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, static_cast<double>(x)) : x;
}

/// Computes BFMul of the Arm Architecture Reference Manual. The product of two bf16 numbers fits
/// into a float.
float bf16_product(float a, float b) noexcept { return rounded_to_odd(taken(a) * taken(b)); }

/// Computes BFAdd of the Arm Architecture Reference Manual.
float bf16_sum(float a, float b) noexcept {
  const double x = taken(a), y = taken(b);
  const double sum = x + y;
  if (!std::isfinite(sum) || sum == 0) return rounded_to_odd(sum);
  // The rounding error of the sum of two doubles (Knuth).
  const double part = sum - x;
  const double lost = (x - (sum - part)) + (y - part);
  if (lost == 0) return rounded_to_odd(sum);
  const double below = std::signbit(lost) == std::signbit(sum) ? sum : std::nextafter(sum, 0.0);
  return rounded_to_odd(std::bit_cast<double>(std::bit_cast<std::uint64_t>(below) | 1U));
}

/// Multiplies two pairs of bf16 numbers and adds both products to c, as one step of bfdot or of
/// bfmmla does.
float add_pair(float a, float b, float c) noexcept {
  const auto first = [](float pair) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) << 16);
  };
  const auto second = [](float pair) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) & 0xFFFF0000U);
  };
  return bf16_sum(c,
                  bf16_sum(bf16_product(first(a), first(b)), bf16_product(second(a), second(b))));
}

/// Like bfcvtn: rounds to nearest even, makes NaN quiet, and does not flush subnormal numbers.
std::uint32_t converted(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return bits >> 16 | 0x40U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

/// Replaces the bfloat16 instructions of `Base` with the emulation.
template <class Base>
struct EmulatedQuads : Base {
  using typename Base::F;
  using Lanes = float[4];

  static F dot(F a, F b, F c) noexcept {
    Lanes x, y, sum;
    a.store_unaligned(x);
    b.store_unaligned(y);
    c.store_unaligned(sum);
    for (int i = 0; i < 4; ++i) sum[i] = add_pair(x[i], y[i], sum[i]);
    return F::load_unaligned(sum);
  }
  static F dot_quads(F a, F b, F c) noexcept {
    Lanes x, y, sum;
    a.store_unaligned(x);
    b.store_unaligned(y);
    c.store_unaligned(sum);
    for (int row = 0; row < 2; ++row) {
      for (int col = 0; col < 2; ++col) {
        float& element = sum[2 * row + col];
        for (int k = 0; k < 2; ++k) element = add_pair(x[2 * row + k], y[2 * col + k], element);
      }
    }
    return F::load_unaligned(sum);
  }
  using Base::narrow;
  static F narrow(F a, F b) noexcept {
    Lanes x, y;
    a.store_unaligned(x);
    b.store_unaligned(y);
    return F(pair_of(x[0], x[1]), pair_of(x[2], x[3]), pair_of(y[0], y[1]), pair_of(y[2], y[3]));
  }
  static F pair(F a, F b) noexcept {
    Lanes x, y;
    a.store_unaligned(x);
    b.store_unaligned(y);
    return F(pair_of(x[0], y[0]), pair_of(x[1], y[1]), pair_of(x[2], y[2]), pair_of(x[3], y[3]));
  }

 private:
  static float pair_of(float first, float second) noexcept {
    return std::bit_cast<float>(converted(first) | converted(second) << 16);
  }
};

}  // namespace
}  // namespace attn::kernels
