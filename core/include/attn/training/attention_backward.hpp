#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The outputs of scaled_dot_product_attention_backward(). Each gradient has the shape of its
/// input. If a gradient is none, it is not computed and costs nothing.
struct AttentionGradients {
  Tensor query = {};  ///< (B, Hq, Nq, D), or the query's shape of lower rank
  Tensor key = {};    ///< (B, Hkv, Nk, D): summed over the query heads that share a key head
  Tensor value = {};  ///< (B, Hkv, Nk, Dv)

  /// The gradient of the biased scores, (B, Hq, Nq, Nk); 0 where a key is excluded.
  Tensor scores = {};
  /// dP, the gradient of the weights before dropout, (B, Hq, Nq, Nk); 0 where a key is excluded.
  Tensor weights = {};
  /// The gradient of AttentionOptions::bias, summed over the dimensions over which the bias
  /// broadcasts; 0 where the bias excludes a key.
  Tensor bias = {};
  Tensor alibi_slopes = {};     ///< (Hq)
  Tensor t5_table = {};         ///< (buckets, Hq), for T5Bias::table
  Tensor relative_keys = {};    ///< (2k+1, D) or (Hq, 2k+1, D), as in AttentionOptions
  Tensor relative_values = {};  ///< (2k+1, Dv) or (Hq, 2k+1, Dv)
  Tensor sinks = {};            ///< (Hq)
};

/// The backward pass of scaled_dot_product_attention (Dao et al. 2022, arXiv:2205.14135, appendix
/// B.4). dO is the gradient of a loss with respect to the output. The weights P = exp(S − lse) are
/// recomputed from the log-sum-exp. The gradients are computed as follows:
///
///   D_i   = Σ_d dO_id · output_id
///   dV_j  = Σ_i P_ij · dO_i
///   dP_ij = dO_i · v_j, times the factor by which dropout multiplied the weight
///   dS_ij = P_ij · (dP_ij − D_i)
///   dQ_i  = scale · Σ_j dS_ij · k_j
///   dK_j  = scale · Σ_i dS_ij · q_i
///
/// `query`, `key`, `value` and `options` are the arguments of the forward pass, `output` and
/// `log_sum_exp` (B, Hq, Nq) are its results, and `output_gradient` has the shape of the output. A
/// softcap multiplies gradients by its slope; dropout passes gradients only through the weights
/// that it kept, and its pattern is drawn again from the same stream. Optional outputs in `options`
/// are not written.
///
/// Excluded keys and values do not enter the arithmetic: the gradient of an excluded score is set
/// to 0, and NaN or infinity in a key or value reaches only the gradients of queries that attend to
/// it. A query with nothing to attend to has gradient 0.
///
/// Memory beyond inputs and outputs is linear in Nq and Nk.
///
/// Reproducibility: the bits of gradients depend on the call's inputs and on the instruction set,
/// not on the number of threads. The gradients of query, key, value, scores and weights do not
/// depend on other batch entries either.
///
/// Error: for |scores| ≤ 20, the relative error of an attention weight is at most 1e-5·√D, as in
/// the forward pass. The error of a gradient is at most 1e-5·√D times the sum of the magnitudes of
/// its terms, including the terms of D_i.
///
/// Tensors may have any strides. No gradient may overlap an input or another gradient.
///
/// Throws kShapeMismatch, kInvalidArgument, kSizeOverflow and std::bad_alloc in the same cases as
/// the forward pass. Also throws kShapeMismatch if you request the gradient of an option that is
/// not set. If it throws, gradients are unchanged.
ATTN_API void scaled_dot_product_attention_backward(
    const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
    const ConstTensor& output, const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
    const AttentionGradients& gradients, const AttentionOptions& options = {},
    Context& context = Context::default_context());

}  // namespace attn
