#include "reference/layer_norm.hpp"

#include <cmath>

namespace reference {

Array layer_norm(const Array& x, const Array& weight, const Array& bias, double eps) {
  Array y(x.shape);
  const auto width = static_cast<std::size_t>(x.shape.back());
  for (std::size_t row = 0; row * width < x.values.size(); ++row) {
    const double* in = x.values.data() + row * width;
    long double mean = 0;
    for (std::size_t c = 0; c < width; ++c) mean += in[c];
    mean /= static_cast<long double>(width);
    long double variance = 0;
    for (std::size_t c = 0; c < width; ++c) variance += (in[c] - mean) * (in[c] - mean);
    variance /= static_cast<long double>(width);
    for (std::size_t c = 0; c < width; ++c) {
      const long double normal = (in[c] - mean) / std::sqrt(variance + eps);
      y.values[row * width + c] = static_cast<double>(
          normal * (weight.given() ? weight.values[c] : 1) + (bias.given() ? bias.values[c] : 0));
    }
  }
  return y;
}

}  // namespace reference
