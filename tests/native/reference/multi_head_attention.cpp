#include "reference/multi_head_attention.hpp"

#include "reference/linear.hpp"

namespace reference {
namespace {

/// (B, N, H·D) → (B, H, N, D)
Array split_heads(const Array& x, std::int64_t heads) {
  const std::int64_t dim = x.size(2) / heads;
  Array result({x.size(0), heads, x.size(1), dim});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t i = 0; i < x.size(1); ++i) {
      for (std::int64_t c = 0; c < heads * dim; ++c) {
        result.at({b, c / dim, i, c % dim}) = x.at({b, i, c});
      }
    }
  }
  return result;
}

/// (B, H, N, D) → (B, N, H·D)
Array join_heads(const Array& x) {
  const std::int64_t dim = x.size(3);
  Array result({x.size(0), x.size(2), x.size(1) * dim});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t i = 0; i < x.size(2); ++i) {
      for (std::int64_t c = 0; c < x.size(1) * dim; ++c) {
        result.at({b, i, c}) = x.at({b, c / dim, i, c % dim});
      }
    }
  }
  return result;
}

}  // namespace

MultiHeadAttentionResult multi_head_attention(const MultiHeadAttention& p, const Array& query,
                                              const Array& key, const Array& value,
                                              const Attention& options) {
  const Bounded q = linear({query, {}}, p.query_weight, p.query_bias);
  const Bounded k = linear({key, {}}, p.key_weight, p.key_bias);
  const Bounded v = linear({value, {}}, p.value_weight, p.value_bias);
  Attention heads = options;
  heads.query = split_heads(q.exact, p.num_heads);
  heads.query_error = split_heads(q.error, p.num_heads);
  heads.key = split_heads(k.exact, p.num_kv_heads);
  heads.key_error = split_heads(k.error, p.num_kv_heads);
  heads.value = split_heads(v.exact, p.num_kv_heads);
  heads.value_error = split_heads(v.error, p.num_kv_heads);
  MultiHeadAttentionResult result;
  result.attention = attention(heads);
  result.output =
      linear({join_heads(result.attention.output), join_heads(result.attention.output_error)},
             p.output_weight, p.output_bias);
  return result;
}

}  // namespace reference
