#include "reference/multi_head_attention.hpp"

#include "reference/linear.hpp"

namespace reference {
namespace {

/// (B, N, H·D) → (B, H, N, D)
template <class T>
ArrayOf<T> split_heads(const ArrayOf<T>& x, std::int64_t heads) {
  const std::int64_t dim = x.size(2) / heads;
  ArrayOf<T> result({x.size(0), heads, x.size(1), dim});
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
template <class T>
ArrayOf<T> join_heads(const ArrayOf<T>& x) {
  const std::int64_t dim = x.size(3);
  ArrayOf<T> result({x.size(0), x.size(2), x.size(1) * dim});
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

MultiHeadAttentionOf<Scalar> variables(Tape& tape, const MultiHeadAttention& p) {
  return {p.num_heads,
          p.num_kv_heads,
          tape.variables(p.query_weight),
          tape.variables(p.key_weight),
          tape.variables(p.value_weight),
          tape.variables(p.output_weight),
          tape.variables(p.query_bias),
          tape.variables(p.key_bias),
          tape.variables(p.value_bias),
          tape.variables(p.output_bias)};
}

template <class T>
MultiHeadAttentionResultOf<T> multi_head_attention(const MultiHeadAttentionOf<T>& p,
                                                   const Given<ArrayOf<T>>& query,
                                                   const Given<ArrayOf<T>>& key,
                                                   const Given<ArrayOf<T>>& value,
                                                   const Given<AttentionOf<T>>& options) {
  const BoundedOf<T> q = linear<T>({query, {}}, p.query_weight, p.query_bias);
  const BoundedOf<T> k = linear<T>({key, {}}, p.key_weight, p.key_bias);
  const BoundedOf<T> v = linear<T>({value, {}}, p.value_weight, p.value_bias);
  AttentionOf<T> heads = options;
  heads.query = split_heads(q.exact, p.num_heads);
  heads.query_error = split_heads(q.error, p.num_heads);
  heads.key = split_heads(k.exact, p.num_kv_heads);
  heads.key_error = split_heads(k.error, p.num_kv_heads);
  heads.value = split_heads(v.exact, p.num_kv_heads);
  heads.value_error = split_heads(v.error, p.num_kv_heads);
  MultiHeadAttentionResultOf<T> result;
  result.attention = attention(heads);
  result.output =
      linear<T>({join_heads(result.attention.output), join_heads(result.attention.output_error)},
                p.output_weight, p.output_bias);
  return result;
}

template MultiHeadAttentionResult multi_head_attention(const MultiHeadAttention&, const Array&,
                                                       const Array&, const Array&,
                                                       const Attention&);
template MultiHeadAttentionResultOf<Scalar> multi_head_attention(
    const MultiHeadAttentionOf<Scalar>&, const ArrayOf<Scalar>&, const ArrayOf<Scalar>&,
    const ArrayOf<Scalar>&, const AttentionOf<Scalar>&);

}  // namespace reference
