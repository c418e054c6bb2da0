#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compare.hpp"
#include "random.hpp"
#include "reference/array.hpp"
#include "reference/scalar.hpp"

namespace attn_test {

/// ∂f/∂x_i by central differences of sixth order, in double precision. The error is about 1e-12
/// times f if f is smooth within 1e-3·max(1, |x_i|) of x_i.
inline std::vector<double> differences(const std::function<double(const std::vector<double>&)>& f,
                                       std::vector<double> x) {
  std::vector<double> result;
  for (double& x_i : x) {
    const double at = x_i;
    // A power of two, so that the distance between x and x ± step is exact.
    const double step = std::exp2(-12 + std::max(0.0, std::ceil(std::log2(std::abs(at) + 1e-300))));
    const auto difference = [&](double by) {
      x_i = at + by;
      const double above = f(x);
      x_i = at - by;
      return above - f(x);
    };
    result.push_back((45 * difference(step) - 9 * difference(2 * step) + difference(3 * step)) /
                     (60 * step));
    x_i = at;
  }
  return result;
}

/// True if a gradient equals the finite differences `wanted` to within `tolerance` · max(1, largest
/// magnitude of `wanted`).
inline ::testing::AssertionResult is_gradient(const reference::Array& got,
                                              const std::vector<double>& wanted,
                                              double tolerance = 1e-9) {
  if (got.values.size() != wanted.size()) {
    return ::testing::AssertionFailure()
           << got.values.size() << " elements instead of " << wanted.size();
  }
  double largest = 1;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::abs(got.values[i] - wanted[i]) <= tolerance * largest) continue;
    char text[120];
    std::snprintf(text, sizeof text, " is %.17g, by differences %.17g", got.values[i], wanted[i]);
    return ::testing::AssertionFailure()
           << "element " << indices_of(static_cast<std::int64_t>(i), got.shape) << text;
  }
  return ::testing::AssertionSuccess();
}

/// The arguments of a function, by name.
template <class T>
using Arrays = std::map<std::string, reference::ArrayOf<T>>;

/// Checks the gradients of the reference f, a template `ArrayOf<T> f(const Arrays<T>&)`, with
/// respect to each of `inputs`: they must equal finite differences of f. All elements of f's output
/// contribute, with random weights.
template <class F>
void expect_gradients(const Arrays<double>& inputs, Random& random, F&& f) {
  const reference::Array output = f(inputs);
  const reference::Array weights(output.shape,
                                 random.normals(static_cast<std::int64_t>(output.values.size())));
  reference::Tape tape;
  const Arrays<reference::Scalar> variables = tape.variables(inputs);
  const reference::ArrayOf<reference::Scalar> same = f(variables);
  ASSERT_EQ(same.shape, output.shape);
  for (std::size_t i = 0; i < output.values.size(); ++i) {
    EXPECT_NEAR(same.values[i].value(), output.values[i], 1e-13 * (1 + std::abs(output.values[i])));
  }
  tape.backward(reference::inner(same, weights));
  for (const auto& [name, input] : inputs) {
    const reference::Bounded gradient = tape.gradient(variables.at(name));
    Arrays<double> changed = inputs;
    const auto value = [&, &values = changed.at(name).values](const std::vector<double>& x) {
      values = x;
      return reference::inner(f(changed), weights);
    };
    EXPECT_TRUE(is_gradient(gradient.exact, differences(value, input.values))) << name;
    EXPECT_THAT(gradient.error.values, ::testing::Each(::testing::Ge(0))) << name;
  }
}

}  // namespace attn_test
