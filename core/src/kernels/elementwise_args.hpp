#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// Computes out[i, c] from a[i, c] and b[i, c]. out may be a or b.
struct ElementwiseArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

}  // namespace attn::kernels
