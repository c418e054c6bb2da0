#pragma once

// The arguments of the matrix products. B is packed: its columns are stored in panels.

#include <cstdint>

#include "attn/element_type.hpp"
#include "kernels/strided.hpp"

namespace attn::kernels {

/// C = A · Bᵀ + bias for one block of rows: A (rows × depth), B (cols × depth) packed. With `add`,
/// C += A · Bᵀ, without a bias.
struct ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  Strided<const float> a;
  const float* packed_b = nullptr;
  const float* bias = nullptr;  ///< bias of each column, or null
  Strided<float> c;
  bool add = false;
};

/// C = A · Bᵀ + bias with a packed B of finite 16-bit numbers. The result is bit-identical to a
/// product with the same numbers as floats.
struct StoredProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  Strided<const float> a;
  ElementType type = ElementType::kFloat16;
  /// The matrix, packed into panels like a matrix of floats. For kBFloat16, panels consist of
  /// pairs; see bf16_packed_size().
  const void* packed_b = nullptr;
  const float* bias = nullptr;  ///< bias of each column, or null
  Strided<float> c;
};

/// C = A · Bᵀ + bias with a packed B of bf16 and an A that is bf16 or is rounded to bf16. Products
/// are exact, and their sums are float32.
struct Bf16ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  Strided<const float> a;               ///< or none
  Strided<const std::uint16_t> bf16_a;  ///< A in bf16, used if `a` is none
  const Bf16Pair* packed_b = nullptr;
  const float* bias = nullptr;  ///< bias of each column, or null
  Strided<float> c;
};

}  // namespace attn::kernels
