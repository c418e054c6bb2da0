#pragma once

#include "attn/element_type.hpp"
#include "kernels/sizes.hpp"

namespace attn::kernels {

/// C = A · Bᵀ + bias with a packed B of finite 16-bit numbers. The result is bit-identical to a
/// product with the same numbers as floats.
struct StoredProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  ElementType type = ElementType::kFloat16;
  /// Packed into panels, as float matrices are. For kBFloat16, panels consist of pairs; see
  /// bf16_packed_size().
  const void* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
};

}  // namespace attn::kernels
