#pragma once

#include <cstdint>

#include "reference/array.hpp"
#include "reference/attention.hpp"

namespace reference {

struct MultiHeadAttention {
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  Array query_weight;   ///< (E, E)
  Array key_weight;     ///< (Hkv·D, key width)
  Array value_weight;   ///< (Hkv·D, value width)
  Array output_weight;  ///< (E, E)
  Array query_bias, key_bias, value_bias, output_bias;
};

struct MultiHeadAttentionResult {
  Bounded output;             ///< (B, Nq, E)
  AttentionResult attention;  ///< of the heads
};

/// Projects query (B, Nq, E), key (B, Nk, ·) and value (B, Nk, ·), attends with each head, joins
/// the heads and projects again. `options` gives everything but query, key and value.
MultiHeadAttentionResult multi_head_attention(const MultiHeadAttention&, const Array& query,
                                              const Array& key, const Array& value,
                                              const Attention& options = {});

}  // namespace reference
