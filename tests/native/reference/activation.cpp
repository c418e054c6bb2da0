#include "reference/activation.hpp"

#include <cmath>
#include <stdexcept>

#include "reference/scalar.hpp"

namespace reference {
namespace {

template <class T>
T gelu(T x) {
  using std::erfc;
  const double root_half = std::sqrt(0.5);
  return 0.5 * x * erfc(-x * root_half);
}

template <class T>
T gelu_tanh(T x) {
  const double pi = std::acos(-1.0);
  const T u = std::sqrt(2 / pi) * (x + 0.044715 * x * x * x);
  // (1 + tanh u) / 2 without cancellation.
  return x * sigmoid(2 * u);
}

}  // namespace

template <class T>
T activate(Activation activation, T x) {
  using std::tanh;
  switch (activation) {
    case Activation::kRelu:
      return plain(x) <= 0 ? T(0) : x;
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kTanh:
      return tanh(x);
    case Activation::kSigmoid:
      return sigmoid(x);
  }
  throw std::invalid_argument("unknown activation");
}

template double activate(Activation, double);
template Scalar activate(Activation, Scalar);

}  // namespace reference
