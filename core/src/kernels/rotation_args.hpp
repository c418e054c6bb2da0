#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// out[i, c] = keep[c]·x[i, c] + cross[c]·x[i, partner of c], for an even number of columns.
/// Partners are columns 2j and 2j + 1, or columns j and j + cols/2. out may be x.
struct RotationArgs {
  index rows = 0;
  index cols = 0;
  bool interleaved = true;  ///< partners are columns 2j and 2j + 1
  const float* keep = nullptr;
  const float* cross = nullptr;
  index table_row = 0;  ///< row stride of keep and cross; 0 if each is one row for all rows of x
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

}  // namespace attn::kernels
