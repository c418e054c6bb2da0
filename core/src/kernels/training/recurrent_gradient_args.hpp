#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// The backward pass of one step of a recurrent layer for several sequences; see RecurrentCellArgs.
struct RecurrentCellGradientArgs {
  index rows = 0;
  index hidden = 0;
  // (rows, gates · hidden): the products. The kernel replaces them with their gradients.
  float* from_input = nullptr;
  index from_input_row = 0;
  float* from_state = nullptr;
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden), before the step
  index state_row = 0;
  const float* output_gradient = nullptr;  ///< (rows, hidden)
  index output_gradient_row = 0;
  /// (rows, hidden). Before the call: the part of the output's gradient that the following step
  /// passes back; the kernel adds it to `output_gradient`. After the call: the part of the gradient
  /// of `state` that does not pass through the products.
  float* carried = nullptr;
  bool relu = false;  ///< for rnn_cell_gradient
};

}  // namespace attn::kernels
