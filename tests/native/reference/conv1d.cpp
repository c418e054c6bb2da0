#include "reference/conv1d.hpp"

#include <cmath>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
BoundedOf<T> conv1d(const ArrayOf<T>& x, const ArrayOf<T>& weight, const Given<ArrayOf<T>>& bias,
                    std::int64_t stride, std::int64_t padding_before, std::int64_t padding_behind,
                    std::int64_t dilation) {
  const std::int64_t length = x.size(0);
  const std::int64_t channels = weight.size(1);
  const std::int64_t kernel = weight.size(2);
  // The number of outputs is the number of windows that fit.
  std::int64_t outputs = 0;
  while (outputs * stride + dilation * (kernel - 1) < length + padding_before + padding_behind) {
    ++outputs;
  }
  BoundedOf<T> y{ArrayOf<T>({outputs, weight.size(0)}), Array({outputs, weight.size(0)})};
  for (std::int64_t t = 0; t < outputs; ++t) {
    for (std::int64_t o = 0; o < weight.size(0); ++o) {
      Sum<T> sum;
      if (bias.given()) sum.add(bias.at({o}));
      double magnitude = bias.given() ? std::abs(plain(bias.at({o}))) : 0;
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t at = t * stride + k * dilation - padding_before;
        if (at < 0 || at >= length) continue;
        for (std::int64_t c = 0; c < channels; ++c) {
          const T a = x.at({at, c}), b = weight.at({o, c, k});
          sum.add(a, b);
          magnitude += std::abs(plain(a) * plain(b));
        }
      }
      y.exact.at({t, o}) = sum.total();
      y.error.at({t, o}) = kUnit * static_cast<double>(channels * kernel + 1) * magnitude + 1.2e-38;
    }
  }
  return y;
}

template Bounded conv1d(const Array&, const Array&, const Array&, std::int64_t, std::int64_t,
                        std::int64_t, std::int64_t);
template BoundedOf<Scalar> conv1d(const ArrayOf<Scalar>&, const ArrayOf<Scalar>&,
                                  const ArrayOf<Scalar>&, std::int64_t, std::int64_t, std::int64_t,
                                  std::int64_t);

}  // namespace reference
