#pragma once

#include <cstdint>

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// Softmax over each row of x. Excluded columns and scores of −∞ get 0. If no other score is left
/// in a row, the whole row is 0. out may be x.
struct SoftmaxArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
  /// If not null, only the first lengths[i·length_row] columns of row i take part.
  const std::int32_t* lengths = nullptr;
  index length_row = 0;
  const std::uint8_t* mask = nullptr;  ///< (rows, cols), or null; zeros exclude elements
  index mask_row = 0;
  index mask_col = 0;
};

}  // namespace attn::kernels
