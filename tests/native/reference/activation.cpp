#include "reference/activation.hpp"

#include <cmath>

namespace reference {

double relu(double x) { return x < 0 ? 0 : x; }

double gelu(double x) {
  const double root_half = std::sqrt(0.5);
  return 0.5 * x * std::erfc(-x * root_half);
}

double gelu_tanh(double x) {
  const double pi = std::acos(-1.0);
  const double u = std::sqrt(2 / pi) * (x + 0.044715 * x * x * x);
  // (1 + tanh u) / 2 without cancellation.
  return x / (1 + std::exp(-2 * u));
}

}  // namespace reference
