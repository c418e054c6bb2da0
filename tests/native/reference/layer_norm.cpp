#include "reference/layer_norm.hpp"

#include <cmath>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
ArrayOf<T> layer_norm(const ArrayOf<T>& x, const Given<ArrayOf<T>>& weight,
                      const Given<ArrayOf<T>>& bias, double eps) {
  using std::sqrt;
  ArrayOf<T> y(x.shape);
  const auto width = static_cast<std::size_t>(x.shape.back());
  const auto count = static_cast<double>(width);
  for (std::size_t row = 0; row * width < x.values.size(); ++row) {
    const T* in = x.values.data() + row * width;
    Wide<T> mean = 0;
    for (std::size_t c = 0; c < width; ++c) mean += in[c];
    mean /= count;
    Wide<T> variance = 0;
    for (std::size_t c = 0; c < width; ++c) variance += (in[c] - mean) * (in[c] - mean);
    variance /= count;
    const Wide<T> deviation = sqrt(variance + eps);
    for (std::size_t c = 0; c < width; ++c) {
      const Wide<T> normal = (in[c] - mean) / deviation;
      y.values[row * width + c] = narrow(normal * (weight.given() ? weight.values[c] : T(1)) +
                                         (bias.given() ? bias.values[c] : T(0)));
    }
  }
  return y;
}

template Array layer_norm(const Array&, const Array&, const Array&, double);
template ArrayOf<Scalar> layer_norm(const ArrayOf<Scalar>&, const ArrayOf<Scalar>&,
                                    const ArrayOf<Scalar>&, double);

}  // namespace reference
