#pragma once

#include <bit>
#include <cstdint>

#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"

/// Operations on the values of a model's tensors.
namespace attn {

inline bool is_row_finite(const float* values, std::int64_t count, std::int64_t stride) noexcept {
  // Compares exponents, because compilers vectorise such comparisons.
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto exponent = std::bit_cast<std::uint32_t>(values[i * stride]) & kExponent;
    found |= static_cast<std::uint32_t>(exponent == kExponent);
  }
  return found == 0;
}

/// True if all values of a tensor (…, N, E) are finite.
inline bool is_finite_tensor(const ConstTensor& values) noexcept {
  const ConstTensor batched = attn::with_batch(values);
  for (std::int64_t b = 0; b < batched.size(0); ++b) {
    for (std::int64_t i = 0; i < batched.size(1); ++i) {
      const float* row = batched.data() + b * batched.stride(0) + i * batched.stride(1);
      if (!is_row_finite(row, batched.size(2), batched.stride(2))) return false;
    }
  }
  return true;
}

/// Multiplies the values by `factor` in place.
inline void scale(const Tensor& values, float factor, runtime::Execution& run) noexcept {
  for_all_row_runs(values.shape(), run, [&](std::int64_t first, std::int64_t count) noexcept {
    float* value = element(values, first);
    for (std::int64_t i = 0; i < count; ++i) value[i * values.stride(-1)] *= factor;
  });
}

}  // namespace attn
