#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "attn/tensor_view.hpp"
#include "reference/array.hpp"
#include "training/values.hpp"

namespace attn_test {

/// Copies a row-major view to an array for the references.
inline reference::Array array_of(const attn::ConstTensor& view) {
  return reference::Array({view.shape().begin(), view.shape().end()}, values(view));
}

/// Checks that errors are at most 1e-5 times the tensor's largest gradient, plus 1e-6. Use this
/// bound for stacks of layers, where a bound propagated from layer to layer would grow too large.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& exact,
                         const std::string& name) {
  ASSERT_EQ(got.size(), exact.size()) << name;
  double largest = 0;
  for (const double x : exact) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), exact[i], 1e-5 * largest + 1e-6)
        << name << " at " << i;
  }
}
inline void expect_close(const attn::ConstTensor& got, const std::vector<double>& exact,
                         const std::string& name) {
  expect_close(values(got), exact, name);
}

}  // namespace attn_test
