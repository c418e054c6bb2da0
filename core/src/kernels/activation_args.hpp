#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// out[i, c] = f(x[i, c]), or f(x[i, c]) · factor[i, c]. out may be x or factor.
struct MapArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const float* factor = nullptr;  ///< or null
  index factor_row = 0;
  index factor_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

}  // namespace attn::kernels
