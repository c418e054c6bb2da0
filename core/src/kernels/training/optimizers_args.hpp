#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// A step of stochastic gradient descent for `count` parameters; see attn::Sgd.
struct SgdArgs {
  index count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* momentum_buffer = nullptr;  ///< null if there is no momentum
  float learning_rate = 0;
  float weight_decay = 0;
  float kept = 0;   ///< the buffer is multiplied by this factor
  float added = 1;  ///< this factor times the gradient is added to the buffer
  float momentum = 0;
  bool nesterov = false;
};

/// A step of Adam or AdamW for `count` parameters; see attn::Adam.
struct AdamArgs {
  index count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* average = nullptr;
  float* square_average = nullptr;
  float average_rate = 0;  ///< 1 − β₁
  float square_rate = 0;   ///< 1 − β₂
  float step_size = 0;     ///< learning rate / (1 − β₁^t)
  float root_factor = 0;   ///< 1 / √(1 − β₂^t)
  float epsilon = 0;
  float gradient_decay = 0;  ///< this factor times the value is added to the gradient
  float value_decay = 0;     ///< this factor times the value is subtracted from the value
};

}  // namespace attn::kernels
