#include "reference/activation.hpp"

#include <cmath>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
T relu(T x) {
  return plain(x) <= 0 ? T(0) : x;
}

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

template <class T>
T silu(T x) {
  return x * sigmoid(x);
}

template double relu(double);
template double gelu(double);
template double gelu_tanh(double);
template double silu(double);
template Scalar relu(Scalar);
template Scalar gelu(Scalar);
template Scalar gelu_tanh(Scalar);
template Scalar silu(Scalar);

}  // namespace reference
