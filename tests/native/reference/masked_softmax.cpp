#include "reference/masked_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
BoundedOf<T> masked_softmax(const ArrayOf<T>& x, const std::vector<bool>& taking_part) {
  using std::exp;
  BoundedOf<T> result{ArrayOf<T>(x.shape), Array(x.shape)};
  const auto cols = static_cast<std::size_t>(x.shape.back());
  for (std::size_t first = 0; first < x.values.size(); first += cols) {
    double largest = -kInfinity;
    Sum<T> sum;
    double count = 0;
    bool is_nan = false;
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j]) continue;
      const double value = plain(x.values[j]);
      is_nan |= std::isnan(value) || value == kInfinity;
      largest = std::max(largest, value);
    }
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j] || plain(x.values[j]) == -kInfinity) continue;
      sum.add(exp(x.values[j] - largest));
      ++count;
    }
    const T total = sum.total();
    for (std::size_t j = first; j < first + cols; ++j) {
      if (!taking_part[j]) continue;
      if (is_nan) {
        result.exact.values[j] = std::numeric_limits<double>::quiet_NaN();
      } else if (plain(x.values[j]) != -kInfinity) {
        const double depth = largest - plain(x.values[j]);
        const T weight = exp(x.values[j] - largest) / total;
        result.exact.values[j] = weight;
        result.error.values[j] =
            plain(weight) * (6e-7 + 1.5e-8 * count + 1.4e-7 * (depth + std::log(count))) + 1.2e-38;
      }
    }
  }
  return result;
}

template Bounded masked_softmax(const Array&, const std::vector<bool>&);
template BoundedOf<Scalar> masked_softmax(const ArrayOf<Scalar>&, const std::vector<bool>&);

}  // namespace reference
