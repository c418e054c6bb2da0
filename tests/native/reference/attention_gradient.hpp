#pragma once

#include "reference/attention.hpp"

namespace reference {

/// The gradients of Σ output_gradient · output, each of the shape of what it is the gradient of; of
/// what is not given, none.
struct AttentionGradient {
  Bounded query, key, value;
  // (B, Hq, Nq, Nk), 0 where excluded:
  Bounded scores;   ///< of the biased scores
  Bounded weights;  ///< of the weights before dropout
  Bounded bias, alibi_slopes, t5_table, relative_keys, relative_values, sinks;
};

/// `error` holds a bound on what float32 arithmetic may be off by, to first order: the sum of the
/// terms' magnitudes, times the relative error of a term.
AttentionGradient attention_gradient(const Attention& p, const Array& output_gradient);

}  // namespace reference
