#pragma once

#include "attn/export.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// attention_pooling(), recorded on the tape of query, key, value and width. `width`, a variable
/// with one element, takes the place of the width of a Gaussian, boxcar or Epanechnikov kernel: so
/// it is learned, as in D2L's parametric Nadaraya-Watson regression.
///
///   attn::Variable y = attn::attention_pooling(x, keys, values, attn::ScoringFunction::gaussian(),
///                                              {}, tape.parameter(model, "width"));
///
/// With g = dw − Σ_j w_j·dw_j, where dw is the gradient of the weights w:
///
///   softmax of scores a    da = w·g
///   a / Σa                 da = g / Σa
///   Gaussian               dq = Σ da·(k − q)/σ², dk = Σ da·(q − k)/σ², dσ = Σ da·‖q − k‖²/σ³
///   Epanechnikov           dq = Σ da·(k − q)/(σ‖q − k‖), …, dσ = Σ da·‖q − k‖/σ²
///
/// The slope of a distance of 0 is 0. What is chosen has no slope: of hard attention and the boxcar
/// only the values have gradients, and all others 0, as queries and keys of the average have. Where
/// a weight is 0, because of a mask, a length or a kernel's edge, nothing is read into the
/// gradients.
///
/// Memory: the weights (B, Nq, Nk) are kept; save with scaled_dot, whose gradients and memory are
/// those of scaled_dot_product_attention_backward().
///
/// Error, to first order, beside what the weights' own error δ (relatively) brings along: da is
/// within (Dv + Nk/64 + 80)·6e-8 · w·(Σ_c |dy_c·v_c| + Σ_j w_j·Σ_c |dy_c·v_jc|) + 2δ·w·|dw| of the
/// exact one, and sums over n pairs within (n/64 + 72)·6e-8 of their terms' magnitudes.
///
/// Throws what attention_pooling() does; kInvalidArgument for options.scores and options.weights,
/// and for a width where the kernel has none.
ATTN_API Variable attention_pooling(const Variable& query, const Variable& key,
                                    const Variable& value, const ScoringFunction& scoring,
                                    const AttentionPoolingOptions& options = {},
                                    const Variable& width = {});

}  // namespace attn
