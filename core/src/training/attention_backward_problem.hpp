#pragma once

#include "attention/check_attention.hpp"
#include "attn/training/attention_backward.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::training {

using kernels::index;

/// A checked call of attention's backward pass.
struct BackwardProblem : AttentionProblem {
  ConstTensor forward_output;        ///< (B, Hq, Nq, Dv)
  ConstTensor output_gradient;       ///< (B, Hq, Nq, Dv)
  ConstTensor log_sum_exp;           ///< (B, Hq, Nq)
  ConstTensor log_sum_exp_gradient;  ///< (B, Hq, Nq), or none
  /// The gradients of query, key and value have rank 4, the gradient of the bias is broadcast to
  /// (B, Hq, Nq, size of its last dimension), and the gradients of relative keys and values are
  /// broadcast to (Hq, 2k+1, D) and (Hq, 2k+1, Dv). Dimensions that are summed over have stride 0.
  AttentionGradients gradients;
};

/// Checks the arguments of scaled_dot_product_attention_backward(). Throws for invalid arguments.
BackwardProblem check_backward(const ConstTensor& query, const ConstTensor& key,
                               const ConstTensor& value, const ConstTensor& output,
                               const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
                               const AttentionGradients& gradients,
                               const AttentionOptions& options);

}  // namespace attn::training
