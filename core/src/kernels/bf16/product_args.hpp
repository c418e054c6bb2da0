#pragma once

#include <cstdint>

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// C = A · Bᵀ + bias with a packed B of bf16 and an A that is bf16 or is rounded to bf16. Products
/// are exact, and their sums are float32.
struct Bf16ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;               ///< or null
  const std::uint16_t* bf16_a = nullptr;  ///< used if `a` is null
  index a_row = 0;
  index a_col = 1;
  const Bf16Pair* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
};

}  // namespace attn::kernels
