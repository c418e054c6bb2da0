#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// The backward pass of f(x), or of f(x) ∘ factor.
struct ActivationGradientArgs {
  index count = 0;
  const float* x = nullptr;
  const float* factor = nullptr;  ///< or null
  const float* output_gradient = nullptr;
  float* gradient = nullptr;         ///< gradient of x, or null
  float* factor_gradient = nullptr;  ///< or null
};

}  // namespace attn::kernels
