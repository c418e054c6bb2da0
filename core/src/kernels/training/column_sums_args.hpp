#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// sums[c] = factor · Σ_i x[i, c], or sums[c] += … with `more`.
struct ColumnSumsArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;  ///< contiguous rows
  index x_row = 0;
  const index* which = nullptr;  ///< (rows), or null: reads row which[i] of x instead of row i
  float factor = 1;
  bool more = false;  ///< adds to the existing sums
  float* sums = nullptr;
};

}  // namespace attn::kernels
