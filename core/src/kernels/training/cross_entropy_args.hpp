#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// The cross entropy of rows of logits with one target each, and its gradient:
///
///   losses[i]      = (1 − s)·(lse_i − x[i, t_i]) + s·(lse_i − mean_c x[i, c])
///   gradient[i, c] = factor · (exp(x[i, c] − lse_i) − (1 − s)·[c = t_i] − s/cols)
///
/// with s the smoothing and lse_i = ln Σ_c exp(x[i, c]). Rows without a target have loss and
/// gradient 0.
struct CrossEntropyArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const index* targets = nullptr;  ///< (rows); negative for a row without a target
  double smoothing = 0;
  double factor = 1;
  float* gradient = nullptr;  ///< (rows, cols), contiguous rows; or null
  double* losses = nullptr;   ///< (rows)
};

}  // namespace attn::kernels
