#include "reference/linear.hpp"

#include <cmath>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
BoundedOf<T> linear(const Given<BoundedOf<T>>& x, const ArrayOf<T>& weight,
                    const Given<ArrayOf<T>>& bias) {
  const auto out = static_cast<std::size_t>(weight.size(0));
  const auto in = static_cast<std::size_t>(weight.size(1));
  std::vector<std::int64_t> shape = x.exact.shape;
  shape.back() = weight.size(0);
  BoundedOf<T> y{ArrayOf<T>(shape), Array(shape)};
  const std::size_t rows = x.exact.values.size() / in;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      Sum<T> sum;
      double magnitude = 0;
      double inherited = 0;
      if (bias.given()) {
        sum.add(bias.values[o]);
        magnitude = std::abs(plain(bias.values[o]));
      }
      for (std::size_t k = 0; k < in; ++k) {
        const T& w = weight.values[o * in + k];
        const T& in_k = x.exact.values[row * in + k];
        sum.add(in_k, w);
        magnitude += std::abs(plain(in_k) * plain(w));
        if (x.error.given()) inherited += x.error.values[row * in + k] * std::abs(plain(w));
      }
      y.exact.values[row * out + o] = sum.total();
      // The rounding errors of `in` products and `in` additions are at most γ_(in + 1) times the
      // sum of the magnitudes.
      y.error.values[row * out + o] =
          inherited + kUnit * static_cast<double>(in + 1) * (magnitude + inherited) + 1.2e-38;
    }
  }
  return y;
}

template Bounded linear(const Bounded&, const Array&, const Array&);
template BoundedOf<Scalar> linear(const BoundedOf<Scalar>&, const ArrayOf<Scalar>&,
                                  const ArrayOf<Scalar>&);

}  // namespace reference
