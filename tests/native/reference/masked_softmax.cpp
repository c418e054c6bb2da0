#include "reference/masked_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reference {

Bounded masked_softmax(const Array& x, const std::vector<bool>& taking_part) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Bounded result{Array(x.shape), Array(x.shape)};
  const auto cols = static_cast<std::size_t>(x.shape.back());
  for (std::size_t first = 0; first < x.values.size(); first += cols) {
    double largest = -kInfinity;
    double sum = 0;
    double count = 0;
    bool is_nan = false;
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j]) continue;
      is_nan |= std::isnan(x.values[j]) || x.values[j] == kInfinity;
      largest = std::max(largest, x.values[j]);
    }
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j] || x.values[j] == -kInfinity) continue;
      sum += std::exp(x.values[j] - largest);
      ++count;
    }
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j]) continue;
      if (is_nan) {
        result.exact.values[j] = std::numeric_limits<double>::quiet_NaN();
      } else if (x.values[j] != -kInfinity) {
        const double depth = largest - x.values[j];
        const double weight = std::exp(-depth) / sum;
        result.exact.values[j] = weight;
        result.error.values[j] =
            weight * (6e-7 + 1.5e-8 * count + 1.4e-7 * (depth + std::log(count))) + 1.2e-38;
      }
    }
  }
  return result;
}

}  // namespace reference
