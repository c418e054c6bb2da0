#include "reference/recurrent.hpp"

#include <cmath>

#include "reference/activation.hpp"
#include "reference/linear.hpp"

namespace reference {
namespace {

/// A number and a bound on its error in float32 arithmetic.
template <class T>
struct BoundedNumber {
  T exact;
  double error;

  BoundedNumber operator+(BoundedNumber other) const {
    return rounded(exact + other.exact, error + other.error);
  }
  BoundedNumber operator*(BoundedNumber other) const {
    const double inherited = std::abs(plain(exact)) * other.error +
                             std::abs(plain(other.exact)) * error + error * other.error;
    return rounded(exact * other.exact, inherited);
  }
  BoundedNumber operator-(BoundedNumber other) const {
    return *this + BoundedNumber{-other.exact, other.error};
  }

 private:
  static BoundedNumber rounded(T value, double inherited) {
    return {value, inherited + kUnit * (std::abs(plain(value)) + inherited) + 1e-38};
  }
};

// The slope of tanh is at most 1, and the slope of the sigmoid is at most 1/4. The headers of the
// kernels state the errors of the functions themselves.
template <class T>
BoundedNumber<T> tanh_of(BoundedNumber<T> x) {
  using std::tanh;
  return {tanh(x.exact), x.error + 3e-7};
}
template <class T>
BoundedNumber<T> sigmoid_of(BoundedNumber<T> x) {
  return {sigmoid(x.exact), x.error / 4 + 4e-7};
}
template <class T>
BoundedNumber<T> relu_of(BoundedNumber<T> x) {
  return {activate(Activation::kRelu, x.exact), x.error};
}

template <class T>
BoundedNumber<T> at(const BoundedOf<T>& array, std::int64_t i) {
  const auto flat = static_cast<std::size_t>(i);
  return {array.exact.values[flat], array.error.values[flat]};
}

}  // namespace

std::vector<RecurrentLayerOf<Scalar>> variables(Tape& tape,
                                                const std::vector<RecurrentLayer>& layers) {
  std::vector<RecurrentLayerOf<Scalar>> result;
  for (const RecurrentLayer& layer : layers) {
    result.push_back({tape.variables(layer.weight_ih), tape.variables(layer.weight_hh),
                      tape.variables(layer.bias_ih), tape.variables(layer.bias_hh)});
  }
  return result;
}

template <class T>
RecurrentResultOf<T> recurrent(Cell cell, const Given<std::vector<RecurrentLayerOf<T>>>& layers,
                               const ArrayOf<T>& x, const Given<ArrayOf<T>>& h_0) {
  const auto zeros = [](std::int64_t rows, std::int64_t cols) {
    return BoundedOf<T>{ArrayOf<T>({rows, cols}), Array({rows, cols})};
  };
  const std::int64_t steps = x.size(0);
  const std::int64_t hidden = layers[0].weight_hh.size(1);
  const auto count = static_cast<std::int64_t>(layers.size());
  RecurrentResultOf<T> result;
  result.h_n = zeros(count, hidden);
  BoundedOf<T> input{x, Array(x.shape)};
  for (std::int64_t l = 0; l < count; ++l) {
    const RecurrentLayerOf<T>& layer = layers[static_cast<std::size_t>(l)];
    BoundedOf<T> output = zeros(steps, hidden);
    BoundedOf<T> state = zeros(1, hidden);
    for (std::int64_t c = 0; c < hidden && h_0.given(); ++c) {
      state.exact.at({0, c}) = h_0.at({l, c});
    }
    const BoundedOf<T> all_inputs = linear(input, layer.weight_ih, layer.bias_ih);
    const std::int64_t width = layer.weight_ih.size(0);
    for (std::int64_t t = 0; t < steps; ++t) {
      const BoundedOf<T> from_state = linear(state, layer.weight_hh, layer.bias_hh);
      for (std::int64_t c = 0; c < hidden; ++c) {
        const auto from_x = [&](std::int64_t gate) {
          return at(all_inputs, t * width + gate * hidden + c);
        };
        const auto from_h = [&](std::int64_t gate) { return at(from_state, gate * hidden + c); };
        BoundedNumber<T> next{};
        if (cell == Cell::kGru) {
          const BoundedNumber<T> r = sigmoid_of(from_x(0) + from_h(0));
          const BoundedNumber<T> z = sigmoid_of(from_x(1) + from_h(1));
          const BoundedNumber<T> n = tanh_of(from_x(2) + r * from_h(2));
          next = (BoundedNumber<T>{1, 0} - z) * n + z * at(state, c);
        } else {
          const BoundedNumber<T> sum = from_x(0) + from_h(0);
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

template RecurrentResult recurrent(Cell, const std::vector<RecurrentLayer>&, const Array&,
                                   const Array&);
template RecurrentResultOf<Scalar> recurrent(Cell, const std::vector<RecurrentLayerOf<Scalar>>&,
                                             const ArrayOf<Scalar>&, const ArrayOf<Scalar>&);

}  // namespace reference
