#pragma once

#include "attention/check_attention.hpp"
#include "attn/training/attention_backward.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::training {

using kernels::index;

/// A checked call.
struct BackwardProblem : AttentionProblem {
  ConstTensor forward_output;        ///< (B, Hq, Nq, Dv)
  ConstTensor output_gradient;       ///< the same
  ConstTensor log_sum_exp;           ///< (B, Hq, Nq)
  ConstTensor log_sum_exp_gradient;  ///< the same, or none
  /// Those of query, key and value of rank 4; that of the bias broadcast to (B, Hq, Nq, its own
  /// last size), those of relative keys and values to (Hq, 2k+1, D). What is summed has stride 0.
  AttentionGradients gradients;
};

/// The checks of scaled_dot_product_attention_backward(); throws.
BackwardProblem check_backward(const ConstTensor& query, const ConstTensor& key,
                               const ConstTensor& value, const ConstTensor& output,
                               const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
                               const AttentionGradients& gradients,
                               const AttentionOptions& options);

}  // namespace attn::training
