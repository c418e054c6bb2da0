#include "reference/sinusoidal_encoding.hpp"

#include <cmath>

namespace reference {
namespace {

long double integer_power(long double x, std::int64_t n) {
  long double result = 1;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result *= x;
    x *= x;
  }
  return result;
}

}  // namespace

long double sinusoidal_frequency(double base, std::int64_t j, std::int64_t width) {
  const long double target = 1 / integer_power(base, 2 * j);
  long double x = std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(width));
  for (int step = 0; step < 3; ++step) {
    x -= x * (1 - target / integer_power(x, width)) / static_cast<long double>(width);
  }
  return x;
}

SinusoidalColumn sinusoidal_column(std::int64_t c, std::int64_t width, bool concatenated) {
  if (!concatenated) return {c % 2 == 1, c / 2};
  const std::int64_t sines = width - width / 2;
  return c < sines ? SinusoidalColumn{false, c} : SinusoidalColumn{true, c - sines};
}

Array sinusoidal_encoding(const SinusoidalEncoding& p) {
  const auto rows = static_cast<std::int64_t>(p.positions.size());
  Array result({rows, p.width});
  for (std::int64_t c = 0; c < p.width; ++c) {
    const SinusoidalColumn column = sinusoidal_column(c, p.width, p.concatenated);
    const long double frequency = sinusoidal_frequency(p.base, column.j, p.width);
    for (std::int64_t i = 0; i < rows; ++i) {
      const long double angle = p.positions[static_cast<std::size_t>(i)] * frequency;
      result.at({i, c}) = static_cast<double>(column.cosine ? std::cos(angle) : std::sin(angle));
    }
  }
  return result;
}

Array sinusoidal_encoding_in_float32(const SinusoidalEncoding& p) {
  const auto rows = static_cast<std::int64_t>(p.positions.size());
  Array result({rows, p.width});
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto position = static_cast<float>(p.positions[static_cast<std::size_t>(i)]);
    for (std::int64_t c = 0; c < p.width; ++c) {
      const SinusoidalColumn column = sinusoidal_column(c, p.width, p.concatenated);
      const float exponent = static_cast<float>(2 * column.j) / static_cast<float>(p.width);
      const auto base = static_cast<float>(p.base);
      const auto divisor = static_cast<float>(std::pow(static_cast<long double>(base), exponent));
      const float angle = position / divisor;
      const auto exact = static_cast<long double>(angle);
      result.at({i, c}) = static_cast<float>(column.cosine ? std::cos(exact) : std::sin(exact));
    }
  }
  return result;
}

}  // namespace reference
