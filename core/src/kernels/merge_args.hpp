#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// Merges the output rows and log-sum-exps of attention over two parts of the keys. A part whose
/// log-sum-exp is −∞ is not read. out may be a or b.
struct MergeArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* log_sum_exp_a = nullptr;
  index log_sum_exp_a_row = 0;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  const float* log_sum_exp_b = nullptr;
  index log_sum_exp_b_row = 0;
  float* out = nullptr;  ///< or null
  index out_row = 0;
  index out_col = 1;
  float* log_sum_exp = nullptr;  ///< or null
  index log_sum_exp_row = 0;
  float* weights = nullptr;  ///< (rows, 2): the factors on a and b; or null
};

}  // namespace attn::kernels
