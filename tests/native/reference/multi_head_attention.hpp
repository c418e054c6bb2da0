#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"
#include "reference/attention.hpp"

namespace reference {

/// The positions to which queries and keys are rotated, as in RotaryEmbeddingOf.
struct RotaryPlaces {
  std::vector<double> queries = {}, keys = {};  ///< empty: 0, 1, …
  std::vector<std::size_t> axes = {};
};

template <class T>
struct MultiHeadAttentionOf {
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  ArrayOf<T> query_weight;   ///< (H·D, E)
  ArrayOf<T> key_weight;     ///< (Hkv·D, key width)
  ArrayOf<T> value_weight;   ///< (Hkv·D, value width)
  ArrayOf<T> output_weight;  ///< (E, H·D)
  ArrayOf<T> query_bias, key_bias, value_bias, output_bias;
  /// Weights of RMSNorm. With shape (D), each head is normalised separately; with shapes (H·D) and
  /// (Hkv·D), all heads are normalised together.
  ArrayOf<T> query_norm = {}, key_norm = {};
  double norm_eps = 0;
  bool norms_add_one = false;  ///< true if norms multiply by 1 + weight
  std::vector<long double> rotary_frequencies =
      {};  ///< if not empty, heads are rotated in half-split pairs
  RotaryPlaces places = {};
};
using MultiHeadAttention = MultiHeadAttentionOf<double>;

MultiHeadAttentionOf<Scalar> variables(Tape&, const MultiHeadAttention&);

template <class T>
struct MultiHeadAttentionResultOf {
  BoundedOf<T> output;             ///< (B, Nq, E)
  AttentionResultOf<T> attention;  ///< the results of all heads
};
using MultiHeadAttentionResult = MultiHeadAttentionResultOf<double>;

/// Projects query (B, Nq, E), key (B, Nk, ·) and value (B, Nk, ·), normalises heads of queries and
/// keys and rotates them to their positions, attends with each head, joins the heads and projects
/// again. `options` provides all arguments except query, key and value.
template <class T>
MultiHeadAttentionResultOf<T> multi_head_attention(const MultiHeadAttentionOf<T>&,
                                                   const Given<ArrayOf<T>>& query,
                                                   const Given<ArrayOf<T>>& key,
                                                   const Given<ArrayOf<T>>& value,
                                                   const Given<AttentionOf<T>>& options = {});

}  // namespace reference
