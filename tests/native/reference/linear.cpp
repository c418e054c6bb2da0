#include "reference/linear.hpp"

#include <cmath>

namespace reference {

Bounded linear(const Bounded& x, const Array& weight, const Array& bias) {
  constexpr double kUnit = 1.0 / (1 << 24);
  const auto out = static_cast<std::size_t>(weight.size(0));
  const auto in = static_cast<std::size_t>(weight.size(1));
  std::vector<std::int64_t> shape = x.exact.shape;
  shape.back() = weight.size(0);
  Bounded y{Array(shape), Array(shape)};
  const std::size_t rows = x.exact.values.size() / in;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias.given() ? bias.values[o] : 0;
      double magnitude = std::abs(sum);
      double inherited = 0;
      for (std::size_t k = 0; k < in; ++k) {
        const double w = weight.values[o * in + k];
        const double term = x.exact.values[row * in + k] * w;
        sum += term;
        magnitude += std::abs(term);
        if (x.error.given()) inherited += x.error.values[row * in + k] * std::abs(w);
      }
      y.exact.values[row * out + o] = sum;
      // in products and in additions: γ_(in + 1) on the sum of magnitudes.
      y.error.values[row * out + o] =
          inherited + kUnit * static_cast<double>(in + 1) * (magnitude + inherited) + 1.2e-38;
    }
  }
  return y;
}

}  // namespace reference
