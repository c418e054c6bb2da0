#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "attn/attention/scaled_dot_product_attention.hpp"

namespace attn {

/// Returns `options` with the diagonal shifted by `past`, for a call whose first query is token
/// number `past` of the sequence.
inline AttentionOptions shift_diagonal(const AttentionOptions& options, std::int64_t past) {
  AttentionOptions result = options;
  result.diagonal = result.diagonal.shifted(past);
  return result;
}

/// The optional outputs of attention.
inline constexpr std::array kFurtherOutputs = {
    &AttentionOptions::scaled_scores, &AttentionOptions::capped_scores,
    &AttentionOptions::biased_scores, &AttentionOptions::weights,
    &AttentionOptions::log_sum_exp,   &AttentionOptions::column_sums};

}  // namespace attn
