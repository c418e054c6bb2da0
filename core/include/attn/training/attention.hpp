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

/// What a call shows beside its output, as variables whose gradients can be looked at, (B, Hq, Nq,
/// Nk) each: not to be computed with.
struct AttentionShown {
  Variable* scores = nullptr;   ///< AttentionOptions::biased_scores
  Variable* weights = nullptr;  ///< AttentionOptions::weights; the gradient is that before dropout
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

}  // namespace attn
