#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// C = A · Bᵀ + bias for one block of rows: A (rows × depth), B (cols × depth) packed. With `add`,
/// C += A · Bᵀ, without a bias.
struct ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;
  index a_row = 0;  ///< stride between rows
  index a_col = 1;
  const float* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
  bool add = false;
};

}  // namespace attn::kernels
