#pragma once

// The arguments of the kernels for training, except the kernels for attention and pooling.

#include "kernels/row_args.hpp"

namespace attn::kernels {

/// sums[i] = Σ_c a[i, c] · b[i, c].
struct RowDotsArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> a;
  Strided<const float> b;
  float* sums = nullptr;
};

/// sums[c] = factor · Σ_i x[i, c]. With `more`, this value is added to sums[c].
struct ColumnSumsArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;  ///< contiguous rows
  index x_row = 0;
  const index* which = nullptr;  ///< (rows), or null: reads row which[i] of x instead of row i
  float factor = 1;
  bool more = false;  ///< true if the kernel adds to the existing sums
  float* sums = nullptr;
};

/// The cross entropy of rows of logits with one target each, and its gradient:
///
///   losses[i]      = (1 − s)·(lse_i − x[i, t_i]) + s·(lse_i − mean_c x[i, c])
///   gradient[i, c] = factor · (exp(x[i, c] − lse_i) − (1 − s)·[c = t_i] − s/cols)
///
/// Here, s is the smoothing, and lse_i = ln Σ_c exp(x[i, c]). Rows without a target have loss and
/// gradient 0.
struct CrossEntropyArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> x;
  const index* targets = nullptr;  ///< class of each row; negative for a row without a target
  double smoothing = 0;
  double factor = 1;
  float* gradient = nullptr;  ///< (rows, cols), contiguous rows; or null
  double* losses = nullptr;   ///< (rows)
};

/// A step of stochastic gradient descent for `count` parameters; see attn::Sgd.
struct SgdArgs {
  index count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* momentum_buffer = nullptr;  ///< momentum of each parameter; null without momentum
  float learning_rate = 0;
  float weight_decay = 0;
  float buffer_factor = 0;    ///< factor by which the buffer is multiplied
  float gradient_factor = 1;  ///< this factor times the gradient is added to the buffer
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

/// The backward pass of f(x), or of f(x) ∘ factor.
struct ActivationGradientArgs {
  index count = 0;
  const float* x = nullptr;
  const float* factor = nullptr;  ///< or null
  const float* output_gradient = nullptr;
  float* gradient = nullptr;         ///< gradient of x, or null
  float* factor_gradient = nullptr;  ///< or null
};
using ActivationGradientKernel = void (*)(const ActivationGradientArgs&) noexcept;

/// The backward pass of a norm over contiguous rows.
struct NormGradientArgs {
  index rows = 0;
  index cols = 0;
  bool centred = true;
  const float* x = nullptr;
  const RowStatistics* statistics = nullptr;  ///< (rows)
  const float* weight = nullptr;  ///< weights (cols rounded up to whole vectors), padded with zeros
  const float* output_gradient = nullptr;
  float* gradient = nullptr;  ///< gradient of x, or null
  // Sums over these rows, each with cols rounded up to whole vectors; or null.
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};

/// The backward pass of one step of a recurrent layer for several sequences; see RecurrentCellArgs.
struct RecurrentCellGradientArgs {
  index rows = 0;
  index hidden = 0;
  // (rows, gates · hidden): the products. The kernel replaces them with their gradients.
  float* from_input = nullptr;
  index from_input_row = 0;
  float* from_state = nullptr;
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden): the state before the step
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
