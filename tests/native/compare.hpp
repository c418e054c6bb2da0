#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "reference/array.hpp"

namespace attn_test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The indices of element `flat` of a row-major shape, such as "(1, 0, 3)".
inline std::string indices_of(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t i = shape.size(); i-- > 0;) {
    text = std::to_string(flat % shape[i]) + (text.empty() ? "" : ", ") + text;
    flat /= shape[i];
  }
  return "(" + text + ")";
}

/// True if every element is within its own error bound of the exact value. NaN must match NaN, and
/// an infinity must match itself.
inline ::testing::AssertionResult is_within(const std::vector<float>& got,
                                            const reference::Array& exact,
                                            const reference::Array& error) {
  if (got.size() != exact.values.size()) {
    return ::testing::AssertionFailure()
           << got.size() << " elements instead of " << exact.values.size();
  }
  std::int64_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = exact.values[i];
    const double value = got[i];
    bool right = false;
    if (std::isnan(want)) {
      right = std::isnan(value);
    } else if (std::isinf(want)) {
      right = value == want;
    } else {
      right = std::abs(value - want) <= error.values[i];
    }
    if (right) continue;
    if (++wrong == 1) {
      char text[160];
      std::snprintf(text, sizeof text, ": got %.9g, exact %.17g, off by %.3g, bound %.3g", value,
                    want, value - want, error.values[i]);
      first = indices_of(static_cast<std::int64_t>(i), exact.shape) + text;
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << wrong << " of " << got.size() << " elements are off; the first is " << first;
}

/// Uses one error bound for all elements.
inline ::testing::AssertionResult is_within(const std::vector<float>& got,
                                            const reference::Array& exact, double error) {
  return is_within(got, exact, reference::Array(exact.shape, error));
}

/// True if two results are bit-identical.
inline ::testing::AssertionResult same_bits(const std::vector<float>& a,
                                            const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return ::testing::AssertionFailure() << a.size() << " elements and " << b.size();
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure()
             << "element " << i << " differs: " << ::testing::PrintToString(a[i]) << " and "
             << ::testing::PrintToString(b[i]);
    }
  }
  return ::testing::AssertionSuccess();
}

/// The message that `call` throws, such as "shape_mismatch: key: length 6 …", or "nothing".
template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const attn::Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "nothing";
}

}  // namespace attn_test
