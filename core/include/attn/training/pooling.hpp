#pragma once

#include "attn/export.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// Like attention_pooling() for tensors, but records the computation on the tape of `query`, `key`,
/// `value` and `width`. `width`, a variable with one element, replaces the width of a Gaussian,
/// boxcar or Epanechnikov kernel, so that it can be learned, as in D2L's parametric Nadaraya-Watson
/// regression.
///
///   attn::Variable y = attn::attention_pooling(x, keys, values, attn::ScoringFunction::gaussian(),
///                                              {}, tape.parameter(model, "width"));
///
/// If dw is the gradient of the weights w, and g = dw − Σ_j w_j·dw_j, the gradients are:
///
///   softmax of scores a    da = w·g
///   a / Σa                 da = g / Σa
///   Gaussian               dq = Σ da·(k − q)/σ², dk = Σ da·(q − k)/σ², dσ = Σ da·‖q − k‖²/σ³
///   Epanechnikov           dq = Σ da·(k − q)/(σ‖q − k‖), …, dσ = Σ da·‖q − k‖/σ²
///
/// At distance 0, the derivative is taken to be 0. Hard attention and the boxcar only select keys,
/// so only the values have gradients; all other gradients are 0. With average pooling, the
/// gradients of queries and keys are 0. A weight of 0, due to a mask, a length or a kernel's edge,
/// contributes nothing to the gradients.
///
/// The tape keeps the weights (B, Nq, Nk), except with scaled_dot, which uses
/// scaled_dot_product_attention_backward().
///
/// Error, to first order: if δ is the relative error of the weights, da is within (Dv + Nk/64 +
/// 80)·6e-8 · w·(Σ_c |dy_c·v_c| + Σ_j w_j·Σ_c |dy_c·v_jc|) + 2δ·w·|dw| of the exact value, and the
/// error of a sum over n pairs is at most (n/64 + 72)·6e-8 · Σ|terms|.
///
/// Throws the same errors as attention_pooling(), and kInvalidArgument if options.scores or
/// options.weights is set, or if a width is passed for a kernel that has none.
ATTN_API Variable attention_pooling(const Variable& query, const Variable& key,
                                    const Variable& value, const ScoringFunction& scoring,
                                    const AttentionPoolingOptions& options = {},
                                    const Variable& width = {});

}  // namespace attn
