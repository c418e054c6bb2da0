#pragma once

#include "attn/training/attention_backward.hpp"

namespace attn::training {

/// Works like scaled_dot_product_attention_backward(), for a loss that also depends on the
/// log-sum-exp. `log_sum_exp_gradient` (B, Hq, Nq), which may be empty, enters the gradient of each
/// score: dS_ij = P_ij · (dP_ij − D_i + dlse_i).
void attention_backward(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
                        const ConstTensor& output, const ConstTensor& log_sum_exp,
                        const ConstTensor& output_gradient, const ConstTensor& log_sum_exp_gradient,
                        const AttentionGradients& gradients, const AttentionOptions& options,
                        Context& context);

}  // namespace attn::training
