#include "reference/multi_head_attention.hpp"

#include <cmath>
#include <numeric>

#include "reference/linear.hpp"
#include "reference/rms_norm.hpp"
#include "reference/rotary_embedding.hpp"

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

/// Normalises each row of D or H·D numbers, the width of the weight. If there is no weight, returns
/// x unchanged.
template <class T>
BoundedOf<T> normalized(const BoundedOf<T>& x, const ArrayOf<T>& weight,
                        const MultiHeadAttentionOf<T>& p) {
  if (!weight.given()) return x;
  ArrayOf<T> factors = weight;
  if (p.norms_add_one) {
    for (T& factor : factors.values) factor += 1;
  }
  BoundedOf<T> y{rms_norm(x.exact, factors, p.norm_eps), Array(x.exact.shape)};
  const std::size_t width = factors.values.size();
  for (std::size_t row = 0; row < x.exact.values.size(); row += width) {
    double square = 0, product = 0;
    for (std::size_t c = row; c < row + width; ++c) {
      square += plain(x.exact.values[c]) * plain(x.exact.values[c]);
      product += std::abs(plain(x.exact.values[c])) * x.error.values[c];
    }
    const double root = std::sqrt(square / static_cast<double>(width) + p.norm_eps);
    for (std::size_t c = row; c < row + width; ++c) {
      const double through_root =
          std::abs(plain(x.exact.values[c])) * product / (static_cast<double>(width) * root * root);
      y.error.values[c] =
          std::abs(plain(factors.values[c - row])) * (x.error.values[c] + through_root) / root +
          6e-7 * std::abs(plain(y.exact.values[c]));
    }
  }
  return y;
}

/// Rotates heads (B, H, N, D) if there are frequencies.
template <class T>
BoundedOf<T> rotated(const BoundedOf<T>& x, const std::vector<long double>& frequencies,
                     const std::vector<double>& positions, const std::vector<std::size_t>& axes) {
  if (frequencies.empty()) return x;
  RotaryEmbeddingOf<T> rotation;
  rotation.x = x.exact;
  rotation.frequencies = frequencies;
  rotation.positions = positions;
  if (positions.empty()) {
    rotation.positions.resize(static_cast<std::size_t>(x.exact.size(2)));
    std::iota(rotation.positions.begin(), rotation.positions.end(), 0.0);
  } else {
    rotation.axes = axes;
  }
  BoundedOf<T> y = rotary_embedding(rotation);
  const auto pairs = static_cast<std::int64_t>(frequencies.size());
  const std::int64_t width = x.exact.size(3);
  for (std::size_t i = 0; i < y.error.values.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % width;
    const auto partner = column >= 2 * pairs
                             ? i
                             : (column < pairs ? i + static_cast<std::size_t>(pairs)
                                               : i - static_cast<std::size_t>(pairs));
    y.error.values[i] = 1.7e-7 * y.error.values[i] + x.error.values[i] + x.error.values[partner];
  }
  return y;
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
          tape.variables(p.output_bias),
          tape.variables(p.query_norm),
          tape.variables(p.key_norm),
          p.norm_eps,
          p.norms_add_one,
          p.rotary_frequencies,
          p.places};
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
  const auto prepared = [&](const BoundedOf<T>& rows, std::int64_t count, const ArrayOf<T>& norm,
                            const std::vector<double>& positions) {
    const BoundedOf<T> split{split_heads(rows.exact, count), split_heads(rows.error, count)};
    if (norm.given() && norm.size(0) == rows.exact.size(2)) {
      const BoundedOf<T> all = normalized(rows, norm, p);
      return rotated(BoundedOf<T>{split_heads(all.exact, count), split_heads(all.error, count)},
                     p.rotary_frequencies, positions, p.places.axes);
    }
    return rotated(normalized(split, norm, p), p.rotary_frequencies, positions, p.places.axes);
  };
  const BoundedOf<T> queries = prepared(q, p.num_heads, p.query_norm, p.places.queries);
  const BoundedOf<T> keys = prepared(k, p.num_kv_heads, p.key_norm, p.places.keys);
  heads.query = queries.exact;
  heads.query_error = queries.error;
  heads.key = keys.exact;
  heads.key_error = keys.error;
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
