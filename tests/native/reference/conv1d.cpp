#include "reference/conv1d.hpp"

#include <cmath>

namespace reference {

Bounded conv1d(const Array& x, const Array& weight, const Array& bias, std::int64_t stride,
               std::int64_t padding_before, std::int64_t padding_behind, std::int64_t dilation) {
  constexpr double kUnit = 1.0 / (1 << 24);
  const std::int64_t length = x.size(0);
  const std::int64_t channels = weight.size(1);
  const std::int64_t kernel = weight.size(2);
  // As many outputs as windows fit.
  std::int64_t outputs = 0;
  while (outputs * stride + dilation * (kernel - 1) < length + padding_before + padding_behind) {
    ++outputs;
  }
  Bounded y{Array({outputs, weight.size(0)}), Array({outputs, weight.size(0)})};
  for (std::int64_t t = 0; t < outputs; ++t) {
    for (std::int64_t o = 0; o < weight.size(0); ++o) {
      double sum = bias.given() ? bias.at({o}) : 0;
      double magnitude = std::abs(sum);
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t at = t * stride + k * dilation - padding_before;
        if (at < 0 || at >= length) continue;
        for (std::int64_t c = 0; c < channels; ++c) {
          const double term = x.at({at, c}) * weight.at({o, c, k});
          sum += term;
          magnitude += std::abs(term);
        }
      }
      y.exact.at({t, o}) = sum;
      y.error.at({t, o}) = kUnit * static_cast<double>(channels * kernel + 1) * magnitude + 1.2e-38;
    }
  }
  return y;
}

}  // namespace reference
