#pragma once

#include "kernels/attention_args.hpp"

namespace attn::kernels {

/// The inputs and outputs of a head's backward pass that AttentionHead does not have.
struct AttentionGradientHead {
  Strided<const float> output_gradient;  ///< (num_queries, value_dim)
  const float* log_sum_exp = nullptr;    ///< (num_queries): results of the forward pass
  const float* delta = nullptr;          ///< (num_queries): Σ_d output_id · output_gradient_id
  /// (2·max_distance+1, head_dim rounded up to whole vectors): Shaw's keys; or null. Replaces
  /// AttentionHead::packed_relative_keys.
  const float* relative_keys = nullptr;
  bool relative_keys_are_finite = true;

  /// The gradient of the weights before dropout (num_queries, num_keys), or null. Written only for
  /// keys that a query may attend to.
  Strided<float> weights;

  // The kernel adds to the following gradients, each of which may be null.
  /// The gradient of the biased scores (num_queries, num_keys).
  Strided<float> scores;
  /// The gradient of the bias; either stride may be zero.
  Strided<float> bias;
  /// The gradient of AttentionHead::distance_bias, indexed by j − i, for every i and j.
  float* distance_bias = nullptr;
  float* relative_key_gradients = nullptr;    ///< as relative_keys
  float* relative_value_gradients = nullptr;  ///< as AttentionHead::relative_values
};

/// The keys of one task of the backward pass: copies of their rows in whole vectors, and the
/// gradients that queries have added so far.
struct KeyChunk {
  index key_begin = 0;  ///< first key, a multiple of gradient_keys
  index key_end = 0;
  float* keys = nullptr;             ///< (gradient_keys, head_dim rounded up to whole vectors)
  float* key_gradients = nullptr;    ///< (gradient_keys, head_dim rounded up to whole vectors)
  float* values = nullptr;           ///< (gradient_keys, value_dim rounded up to whole vectors)
  float* value_gradients = nullptr;  ///< (gradient_keys, value_dim rounded up to whole vectors)
  bool is_finite = true;             ///< true if all keys and values are finite
};

}  // namespace attn::kernels
