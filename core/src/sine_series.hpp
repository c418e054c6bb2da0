#pragma once

#include <array>
#include <numbers>

namespace attn {

/// Taylor coefficients c_k of sin(2πw) = w · Σ_k c_k·w^(2k). For |w| ≤ 1/4 the first term left out
/// is (π/2)^21/21! = 2.6e-16.
inline constexpr std::array<double, 10> kSineSeries = [] {
  std::array<double, 10> c{};
  double term = 2 * std::numbers::pi;
  for (int k = 0; k < 10; ++k) {
    c[k] = term;
    term *= -4 * std::numbers::pi * std::numbers::pi / ((2 * k + 2) * (2 * k + 3));
  }
  return c;
}();

}  // namespace attn
