#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// The statistics of a row that the backward pass of a norm needs: x̂ = ((x − mean) − shift) ·
/// factor.
struct RowStatistics {
  float mean = 0;
  float shift = 0;  ///< rounding error of the mean
  float factor = 0;
};

/// Subtracts the mean from each row of x, or of x + addend, and divides the row by the root of its
/// mean square. Then multiplies by weight and adds bias. out may be x or addend.
struct NormArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const float* addend = nullptr;  ///< or null
  index addend_row = 0;
  index addend_col = 1;
  bool centred = true;            ///< if false, the mean is not subtracted
  const float* weight = nullptr;  ///< cols values, or null
  float weight_offset = 0;        ///< added to each weight
  const float* bias = nullptr;    ///< cols values, or null; only allowed with a weight
  float epsilon = 0;              ///< added to the mean square
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
  RowStatistics* statistics = nullptr;  ///< (rows), or null
};

}  // namespace attn::kernels
