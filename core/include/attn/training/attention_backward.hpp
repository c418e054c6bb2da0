#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Where the gradients of scaled_dot_product_attention go, each of the shape of what it is the
/// gradient of. What is none is left out, and costs nothing.
struct AttentionGradients {
  Tensor query = {};  ///< (B, Hq, Nq, D), or of the query's lower rank
  Tensor key = {};    ///< (B, Hkv, Nk, D): summed over the query heads that read a key head
  Tensor value = {};  ///< (B, Hkv, Nk, Dv)

  /// (B, Hq, Nq, Nk): of the biased scores, 0 where a key is excluded.
  Tensor scores = {};
  /// (B, Hq, Nq, Nk): dP, of the weights before dropout, 0 where a key is excluded.
  Tensor weights = {};
  /// Of AttentionOptions::bias, summed over what it broadcasts over. 0 where it excludes.
  Tensor bias = {};
  Tensor alibi_slopes = {};     ///< (Hq)
  Tensor t5_table = {};         ///< (buckets, Hq): of T5Bias::table
  Tensor relative_keys = {};    ///< (2k+1, D) or (Hq, 2k+1, D), as AttentionOptions has it
  Tensor relative_values = {};  ///< (2k+1, Dv) or (Hq, 2k+1, Dv)
  Tensor sinks = {};            ///< (Hq)
};

/// The backward pass of scaled_dot_product_attention (Dao et al. 2022, arXiv:2205.14135, appendix
/// B.4). With dO the gradient of a loss with respect to the output, and weights P = exp(S − lse)
/// recomputed from the log-sum-exp:
///
///   D_i   = Σ_d dO_id · output_id
///   dV_j  = Σ_i P_ij · dO_i
///   dP_ij = dO_i · v_j, times what dropout multiplied the weight by
///   dS_ij = P_ij · (dP_ij − D_i)
///   dQ_i  = scale · Σ_j dS_ij · k_j
///   dK_j  = scale · Σ_i dS_ij · q_i
///
/// `query`, `key`, `value` and `options` are those of the forward pass, `output` and `log_sum_exp`
/// (B, Hq, Nq) what it gave, and `output_gradient` has the shape of the output. Terms of the score
/// pass gradients on as they should: a softcap by its slope, dropout by the weights that it kept,
/// drawn again from the same stream. Further outputs in `options` are not written.
///
/// What is excluded is not read into the arithmetic: the gradient of an excluded score is 0 by
/// selection, and NaN or infinity in a key or value reaches the gradients of those queries only
/// that attend to it. A query with nothing to attend to has gradient 0.
///
/// Memory beyond inputs and outputs is linear in Nq and Nk.
///
/// Same bits: gradients depend on the call's inputs and on the instruction set, and not on the
/// number of threads. Those of query, key, value, scores and weights do not depend on the other
/// entries of the batch, either.
///
/// Error: a weight is within 1e-5·√D of the exact one relatively, for |scores| ≤ 20, as in the
/// forward pass; a gradient is off by as much of the magnitudes of the terms that it sums, D_i's
/// among them.
///
/// Any strides; no gradient may overlap an input or another gradient.
///
/// Throws kShapeMismatch, also for the gradient of an option that is not given, kInvalidArgument,
/// kSizeOverflow and std::bad_alloc as the forward pass does; gradients are then untouched.
ATTN_API void scaled_dot_product_attention_backward(
    const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
    const ConstTensor& output, const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
    const AttentionGradients& gradients, const AttentionOptions& options = {},
    Context& context = Context::default_context());

}  // namespace attn
