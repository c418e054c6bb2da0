#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/export.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// Score terms passed as variables, so that they receive gradients. Each term replaces the option
/// of the same name and has the same shape. If a term is none, the option applies.
struct AttentionVariables {
  Variable bias = {};
  Variable alibi_slopes = {};
  Variable t5_table = {};  ///< replaces T5Bias::table; requires AttentionOptions::t5_bias
  Variable relative_keys = {};
  Variable relative_values = {};
  Variable sinks = {};
};

/// Additional results of a call, as variables whose gradients you can read. You may use the
/// log-sum-exp (B, Hq, Nq) in other computations, but not the scores or weights (B, Hq, Nq, Nk).
struct AttentionIntermediates {
  Variable* scores = nullptr;  ///< AttentionOptions::biased_scores
  /// Replaces AttentionOptions::weights. The gradient is with respect to the weights before
  /// dropout.
  Variable* weights = nullptr;
  Variable* log_sum_exp = nullptr;  ///< AttentionOptions::log_sum_exp
};

/// Like scaled_dot_product_attention() for tensors, but records the computation on the tape of
/// `query`, `key` and `value`. The output has the query's shape, except that its last size is the
/// last size of `value`. Tensors in the options are copied. Setting output tensors in the options
/// is an error: use `intermediates` instead.
///
/// The gradients have the same bits as with scaled_dot_product_attention_backward(), and the same
/// error bounds. Memory beyond the recorded tensors is linear in the lengths.
///
/// Throws the same errors as scaled_dot_product_attention().
ATTN_API Variable scaled_dot_product_attention(const Variable& query, const Variable& key,
                                               const Variable& value,
                                               const AttentionOptions& options = {},
                                               const AttentionVariables& terms = {},
                                               const AttentionIntermediates& intermediates = {});

/// The result of attention over one part of the keys, or over several merged parts.
struct AttentionPart {
  Variable output;       ///< (B, H, N, Dv)
  Variable log_sum_exp;  ///< (B, H, N)
};

/// Like merge_attention() for tensors, but records the computation on a tape. Returns the result of
/// attention to the keys of both parts. If w_a and w_b are the factors by which the outputs are
/// multiplied, and e = dO·(output_a − output_b), the gradients are
///
///   d output_a = w_a · dO      d lse_a = w_a · ( w_b · e + d lse)
///   d output_b = w_b · dO      d lse_b = w_b · (−w_a · e + d lse)
///
/// If a part has nothing to attend to, its gradients are 0. The error of a gradient results from
/// the errors of w_a and w_b and from the rounding of a dot product with Dv terms.
///
/// Throws the same errors as merge_attention().
ATTN_API AttentionPart merge_attention(const AttentionPart& a, const AttentionPart& b);

}  // namespace attn
