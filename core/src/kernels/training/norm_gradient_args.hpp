#pragma once

#include "kernels/norm_args.hpp"

namespace attn::kernels {

/// The backward pass of a norm over contiguous rows.
struct NormGradientArgs {
  index rows = 0;
  index cols = 0;
  bool centred = true;
  const float* x = nullptr;
  const RowStatistics* statistics = nullptr;  ///< (rows)
  const float* weight = nullptr;  ///< (cols rounded up to whole vectors), padded with zeros
  const float* output_gradient = nullptr;
  float* gradient = nullptr;  ///< gradient of x, or null
  // Sums over these rows, (cols rounded up to whole vectors), or null.
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};

}  // namespace attn::kernels
