#include "reference/rms_norm.hpp"

#include <cmath>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
ArrayOf<T> rms_norm(const ArrayOf<T>& x, const Given<ArrayOf<T>>& weight, double eps) {
  using std::sqrt;
  ArrayOf<T> y(x.shape);
  const auto width = static_cast<std::size_t>(x.shape.back());
  for (std::size_t row = 0; row * width < x.values.size(); ++row) {
    const T* in = x.values.data() + row * width;
    Wide<T> square = 0;
    for (std::size_t c = 0; c < width; ++c) square += Wide<T>(in[c]) * in[c];
    const Wide<T> root = sqrt(square / static_cast<double>(width) + eps);
    for (std::size_t c = 0; c < width; ++c) {
      y.values[row * width + c] = narrow(in[c] / root * (weight.given() ? weight.values[c] : T(1)));
    }
  }
  return y;
}

template Array rms_norm(const Array&, const Array&, double);
template ArrayOf<Scalar> rms_norm(const ArrayOf<Scalar>&, const ArrayOf<Scalar>&, double);

}  // namespace reference
