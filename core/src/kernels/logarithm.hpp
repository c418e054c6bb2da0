#pragma once

// ln and 2^x of single numbers in double precision, computed with products and sums only, because
// the C library's functions differ in their last bits between versions and processors.

#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>

#include "kernels/simd.hpp"

namespace attn::kernels {

/// ln x for any x ≥ 0 that is not subnormal, within 4e-16 + 2e-16·|ln x|; NaN stays NaN.
///
/// x = m·2^e with m in [√½, √2]. ln m = 2·artanh((m − 1)/(m + 1)), whose series is truncated after
/// the 21st power; the argument of artanh is at most 0.172.
template <class Isa>
double natural_log(double x) noexcept {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x < std::numeric_limits<double>::infinity())) return x;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & kMantissa) | kOne);
  if (m > std::numbers::sqrt2) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 21; power > 0; power -= 2) sum = sum * square + 1.0 / power;
  return exponent * std::numbers::ln2 + 2 * s * sum;
}

/// 2^x for |x| ≤ 1/2, within 4e-16; NaN stays NaN. Evaluates the exponential series up to the 14th
/// power; the argument's magnitude is at most 0.347.
template <class Isa>
double exp2_near_zero(double x) noexcept {
  const double y = x * std::numbers::ln2;
  double sum = 1;
  for (int power = 14; power > 0; --power) sum = 1 + sum * y / power;
  return sum;
}

}  // namespace attn::kernels
