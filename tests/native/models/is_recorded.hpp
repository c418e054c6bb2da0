#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "attn/tensor_view.hpp"

/// Comparisons with the recorded results of models.
namespace attn_test {

inline constexpr double kTolerance = 2e-5;

inline ::testing::AssertionResult is_recorded(const attn::ConstTensor& got,
                                              const attn::Safetensors& recorded,
                                              const std::string& name, std::int64_t first_row = 0) {
  const std::vector<float> want = recorded.read(name);
  if (!got.is_contiguous()) return ::testing::AssertionFailure() << "gaps";
  std::int64_t count = 1;
  for (const std::int64_t size : got.shape()) count *= size;
  const std::int64_t begin = first_row * got.size(-1);
  if (begin + count > std::ssize(want)) return ::testing::AssertionFailure() << "another shape";
  for (std::int64_t i = 0; i < count; ++i) {
    const double difference =
        std::abs(double{got.data()[i]} - double{want[static_cast<std::size_t>(begin + i)]});
    if (!(difference <= kTolerance)) {
      return ::testing::AssertionFailure()
             << name << ": element " << i << " of row " << first_row << " is off by " << difference;
    }
  }
  return ::testing::AssertionSuccess();
}

inline std::vector<std::int64_t> whole_numbers(const attn::Safetensors& file,
                                               const std::string& name) {
  const std::vector<float> values = file.read(name);
  return {values.begin(), values.end()};
}

}  // namespace attn_test
