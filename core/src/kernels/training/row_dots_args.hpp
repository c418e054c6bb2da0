#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// sums[i] = Σ_c a[i, c] · b[i, c].
struct RowDotsArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  float* sums = nullptr;
};

}  // namespace attn::kernels
