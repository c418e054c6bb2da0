#pragma once

#include "attn/training/attention_backward.hpp"

namespace attn::training {

/// scaled_dot_product_attention_backward() of a loss that depends on the log-sum-exp, too:
/// `log_sum_exp_gradient` (B, Hq, Nq) is added to what each score of a row gets times its weight,
/// dS_ij = P_ij · (dP_ij − D_i + dlse_i). It may be none.
void attention_backward(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
                        const ConstTensor& output, const ConstTensor& log_sum_exp,
                        const ConstTensor& output_gradient, const ConstTensor& log_sum_exp_gradient,
                        const AttentionGradients& gradients, const AttentionOptions& options,
                        Context& context);

}  // namespace attn::training
