#include "reference/recurrent.hpp"

#include <cmath>

#include "reference/linear.hpp"

namespace reference {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);

/// A number and how far float32 arithmetic may be from it.
struct Number {
  double exact;
  double error;

  Number operator+(Number other) const {
    const double sum = exact + other.exact;
    return rounded(sum, error + other.error);
  }
  Number operator*(Number other) const {
    const double inherited =
        std::abs(exact) * other.error + std::abs(other.exact) * error + error * other.error;
    return rounded(exact * other.exact, inherited);
  }
  Number operator-(Number other) const { return *this + Number{-other.exact, other.error}; }

 private:
  static Number rounded(double value, double inherited) {
    return {value, inherited + kUnit * (std::abs(value) + inherited) + 1e-38};
  }
};

// The slopes of both are at most 1 and 1/4; their own errors are those that the kernels state.
Number tanh_of(Number x) { return {std::tanh(x.exact), x.error + 3e-7}; }
Number sigmoid_of(Number x) { return {1 / (1 + std::exp(-x.exact)), x.error / 4 + 4e-7}; }
Number relu_of(Number x) {
  return {std::isnan(x.exact) ? x.exact : std::fmax(x.exact, 0), x.error};
}

Number at(const Bounded& array, std::int64_t i) {
  const auto flat = static_cast<std::size_t>(i);
  return {array.exact.values[flat], array.error.values[flat]};
}

}  // namespace

RecurrentResult recurrent(Cell cell, const std::vector<RecurrentLayer>& layers, const Array& x,
                          const Array& h_0) {
  const std::int64_t steps = x.size(0);
  const std::int64_t hidden = layers[0].weight_hh.size(1);
  const auto count = static_cast<std::int64_t>(layers.size());
  RecurrentResult result;
  result.h_n = {Array({count, hidden}), Array({count, hidden})};
  Bounded input{x, Array(x.shape)};
  for (std::int64_t l = 0; l < count; ++l) {
    const RecurrentLayer& layer = layers[static_cast<std::size_t>(l)];
    Bounded output{Array({steps, hidden}), Array({steps, hidden})};
    Bounded state{Array({1, hidden}), Array({1, hidden})};
    for (std::int64_t c = 0; c < hidden && h_0.given(); ++c) {
      state.exact.at({0, c}) = h_0.at({l, c});
    }
    const Bounded all_inputs = linear(input, layer.weight_ih, layer.bias_ih);
    const std::int64_t width = layer.weight_ih.size(0);
    for (std::int64_t t = 0; t < steps; ++t) {
      const Bounded from_state = linear(state, layer.weight_hh, layer.bias_hh);
      for (std::int64_t c = 0; c < hidden; ++c) {
        const auto from_x = [&](std::int64_t gate) {
          return at(all_inputs, t * width + gate * hidden + c);
        };
        const auto from_h = [&](std::int64_t gate) { return at(from_state, gate * hidden + c); };
        Number next{};
        if (cell == Cell::kGru) {
          const Number r = sigmoid_of(from_x(0) + from_h(0));
          const Number z = sigmoid_of(from_x(1) + from_h(1));
          const Number n = tanh_of(from_x(2) + r * from_h(2));
          next = (Number{1, 0} - z) * n + z * at(state, c);
        } else {
          const Number sum = from_x(0) + from_h(0);
          next = cell == Cell::kTanh ? tanh_of(sum) : relu_of(sum);
        }
        output.exact.at({t, c}) = next.exact;
        output.error.at({t, c}) = 2 * next.error;
      }
      for (std::int64_t c = 0; c < hidden; ++c) {
        state.exact.at({0, c}) = output.exact.at({t, c});
        state.error.at({0, c}) = output.error.at({t, c});
      }
    }
    for (std::int64_t c = 0; c < hidden; ++c) {
      result.h_n.exact.at({l, c}) = state.exact.at({0, c});
      result.h_n.error.at({l, c}) = state.error.at({0, c});
    }
    input = output;
  }
  result.output = input;
  return result;
}

}  // namespace reference
