#pragma once

#include "attn/element_type.hpp"
#include "kernels/strided.hpp"

namespace attn::kernels {

/// Rows as they are stored, with contiguous columns.
struct StoredRows {
  ElementType type = ElementType::kFloat32;
  const void* data = nullptr;
  index row = 0;                  ///< stride, in elements
  const float* scales = nullptr;  ///< the scale of each row, for kInt8
  index scale_row = 0;
};

/// to[i, c] = from[i, c] as a float, or 0 for c ≥ cols.
struct WidenArgs {
  index rows = 0;
  index cols = 0;
  index padded_cols = 0;  ///< number of columns of `to`; at least cols
  StoredRows from;
  index from_col = 1;
  Strided<float> to;
};

/// to[i, c] = the number of type `type` that is nearest to from[i, c], ties to even. With kInt8, a
/// row is first multiplied by 127 / its largest magnitude, and its scale is that magnitude / 127,
/// but at most kLargestScale. The scale is NaN if the row contains a number that is not finite. If
/// the scale would be below kSmallestScale, the scale and the row are zero.
struct NarrowArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> from;
  ElementType type = ElementType::kFloat32;
  void* to = nullptr;
  index to_row = 0;
  index to_col = 1;
  float* scales = nullptr;  ///< (rows), for kInt8
  index scale_row = 0;
};

/// The smallest scale of an int8 row: the smallest normal float.
inline constexpr float kSmallestScale = 0x1p-126F;
/// The largest scale of an int8 row. 127 times this scale is finite, unlike 127 times the float
/// nearest to FLT_MAX / 127.
inline constexpr float kLargestScale = 0x1.020406p+121F;

}  // namespace attn::kernels
