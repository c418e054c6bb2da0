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

/// A row-major view, for the references.
inline reference::Array array_of(const attn::ConstTensor& view) {
  return reference::Array({view.shape().begin(), view.shape().end()}, values(view));
}

/// Within 1e-5 of the largest gradient of the tensor, or 1e-6: what is stated of several layers,
/// through which a bound of bounds grows wide.
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
