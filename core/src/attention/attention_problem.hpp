#pragma once

#include <cstdint>
#include <optional>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// A checked call of scaled_dot_product_attention: every view of rank 4 or broadcast to the rank
/// that its use needs.
struct AttentionProblem {
  ConstTensor query, key, value;  ///< (B, H, N, D)
  Tensor output;
  /// The options, with mask and bias broadcast to (B, Hq, Nq, their own last size), relative keys
  /// and values to (Hq, 2k+1, D).
  AttentionOptions options;
  std::int64_t batch, query_heads, key_heads, num_queries, num_keys, head_dim, value_dim;
  std::int64_t max_distance;  ///< k of the relative keys and values

  /// Keys that batch entry b really has.
  std::int64_t keys_of(std::int64_t b) const {
    return options.key_lens.is_none() ? num_keys : options.key_lens(b);
  }

  bool has_distance_bias() const {
    return !options.alibi_slopes.is_none() || options.t5_bias.has_value();
  }
};

/// Throws Error for whatever does not fit.
AttentionProblem check_attention(const ConstTensor& query, const ConstTensor& key,
                                 const ConstTensor& value, const Tensor& output,
                                 const AttentionOptions& options);

}  // namespace attn
