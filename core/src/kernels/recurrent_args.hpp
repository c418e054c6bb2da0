#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// One step of a recurrent layer for several sequences, after the step's matrix products. The
/// arrays are readable, and next_state is writable, up to a whole panel beyond each row.
struct RecurrentCellArgs {
  index rows = 0;
  index hidden = 0;
  const float* from_input = nullptr;  ///< (rows, gates · hidden)
  index from_input_row = 0;
  const float* from_state = nullptr;  ///< (rows, gates · hidden)
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden)
  float* next_state = nullptr;
  index state_row = 0;
  bool relu = false;  ///< for rnn_cell: ReLU instead of tanh
};

}  // namespace attn::kernels
