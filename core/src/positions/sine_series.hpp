#pragma once

#include <array>
#include <numbers>

namespace attn {

/// Taylor coefficients c_k of sin(2πw) = w · Σ_k c_k·w^(2k). For |w| ≤ 1/4, the first omitted term
/// is at most (π/2)^17/17! = 6.1e-12.
inline constexpr std::array<double, 8> kSineSeries = [] {
  std::array<double, 8> c{};
  double term = 2 * std::numbers::pi;
  for (int k = 0; k < 8; ++k) {
    c[k] = term;
    term *= -4 * std::numbers::pi * std::numbers::pi / ((2 * k + 2) * (2 * k + 3));
  }
  return c;
}();

}  // namespace attn
