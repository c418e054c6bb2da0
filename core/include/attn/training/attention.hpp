#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/export.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// Terms of the score that are variables, and so have gradients: each takes the place of the option
/// of its name, of the same shape. What is none is left to the options.
struct AttentionVariables {
  Variable bias = {};
  Variable alibi_slopes = {};
  Variable t5_table = {};  ///< takes the place of T5Bias::table; needs AttentionOptions::t5_bias
  Variable relative_keys = {};
  Variable relative_values = {};
  Variable sinks = {};
};

/// What a call shows beside its output, as variables whose gradients can be looked at: scores and
/// weights (B, Hq, Nq, Nk), not to be computed with, and the log-sum-exp (B, Hq, Nq), which may be.
struct AttentionShown {
  Variable* scores = nullptr;   ///< AttentionOptions::biased_scores
  Variable* weights = nullptr;  ///< AttentionOptions::weights; the gradient is that before dropout
  Variable* log_sum_exp = nullptr;  ///< AttentionOptions::log_sum_exp
};

/// scaled_dot_product_attention(), recorded on the tape of query, key and value: the output has the
/// shape of the query, with the values' last size. Tensors of the options are copied. Further
/// outputs of the options are refused: see `shown`.
///
/// The gradients, their error bounds and bits are those of scaled_dot_product_attention_backward().
/// Memory beyond what is recorded is linear in the lengths.
///
/// Throws what scaled_dot_product_attention() does.
ATTN_API Variable scaled_dot_product_attention(const Variable& query, const Variable& key,
                                               const Variable& value,
                                               const AttentionOptions& options = {},
                                               const AttentionVariables& terms = {},
                                               const AttentionShown& shown = {});

/// Attention over a part of the keys.
struct AttentionPart {
  Variable output;       ///< (B, H, N, Dv)
  Variable log_sum_exp;  ///< (B, H, N)
};

/// merge_attention(), recorded: attention over the keys of both parts. With w_a and w_b what the
/// outputs are multiplied by, and e = dO·(output_a − output_b), the gradients are
///
///   d output_a = w_a · dO      d lse_a = w_a · ( w_b · e + d lse)
///   d output_b = w_b · dO      d lse_b = w_b · (−w_a · e + d lse)
///
/// and 0 for a part with nothing to attend to. Error: that of w_a, w_b and of a product of Dv
/// terms.
///
/// Throws what merge_attention() does.
ATTN_API AttentionPart merge_attention(const AttentionPart& a, const AttentionPart& b);

}  // namespace attn
