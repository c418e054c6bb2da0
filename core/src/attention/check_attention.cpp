#include "attention/check_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>

#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;
using validation::fail_shape;
using validation::fail_value;
using validation::Name;

template <class View>
void require_rank(const char* name, const View& view, int rank) {
  if (view.rank() != rank) {
    fail_shape(name, view.shape(), {"rank ", rank, ", the rank of query"});
  }
  validation::require_data(name, view.shape(), view.data(),
                           static_cast<std::size_t>(view.element_bytes()));
}

/// Requires that two tensors have the same size in one dimension. Example of a message:
/// `key: got length 6, needs 5, the length of value`.
void require_equal(const char* name, const char* what, std::int64_t got, const char* other,
                   std::int64_t needed) {
  if (got != needed) {
    fail(ErrorCode::kShapeMismatch, name, {what, " ", got},
         {needed, ", the ", what, " of ", Name(other)});
  }
}

/// Requires that a head's length or dimension fits into 32 bits, so that the product of two such
/// sizes fits into 64 bits.
void require_limited(const char* name, const char* what, std::int64_t size) {
  if (size > INT32_MAX) {
    fail(ErrorCode::kSizeOverflow, name, {what, " ", size}, {"at most ", INT32_MAX});
  }
}

/// Checks an optional tensor: it must be empty, or have the required shape and data.
template <class T>
void check_optional(const char* name, const TensorView<T>& view,
                    std::initializer_list<std::int64_t> shape) {
  if (view.is_none()) return;
  validation::require_shape(name, view, shape);
  validation::require_data(name, view);
}

/// Broadcasts a mask or a bias to (B, Hq, Nq, Nk), but leaves the size of the last dimension
/// unchanged if it is from 2 to Nk.
template <class T>
TensorView<T> broadcast_to_scores(const char* name, const TensorView<T>& view,
                                  const AttentionTerms& p) {
  if (view.is_none()) return view;
  validation::require_data(name, view);
  std::int64_t cols = p.num_keys;
  if (view.rank() > 0 && view.size(-1) > 1) cols = std::min(cols, view.size(-1));
  return validation::broadcast(name, view, {p.batch, p.query_heads, p.num_queries, cols});
}

/// Broadcasts a table of shape (2k+1, width) to (Hq, 2k+1, width). A table that already has the
/// larger shape is returned unchanged. Sets `max_distance` to k, or checks k if `max_distance` is
/// already set.
ConstTensor check_relative(const char* name, const ConstTensor& table, std::int64_t width,
                           AttentionTerms& p) {
  if (table.is_none()) return table;
  const bool fits = (table.rank() == 2 || (table.rank() == 3 && table.size(0) == p.query_heads)) &&
                    table.size(-2) % 2 == 1 && table.size(-1) == width;
  if (!fits) {
    const std::array any{std::int64_t{-1}, width};
    const std::array per_head{p.query_heads, std::int64_t{-1}, width};
    fail_shape(name, table.shape(),
               {"shape ", any, " or ", per_head, " with an odd number 2k+1 of distances"});
  }
  validation::require_data(name, table);
  const std::int64_t k = table.size(-2) / 2;
  if (p.max_distance >= 0)
    require_equal(name, "largest distance", k, "relative_keys", p.max_distance);
  p.max_distance = k;
  return validation::broadcast(name, table, {p.query_heads, 2 * k + 1, width});
}

void check_bias(const AttentionTerms& p) {
  const AttentionOptions& o = p.options;
  check_optional("alibi_slopes", o.alibi_slopes, {p.query_heads});
  if (o.t5_bias) {
    validation::require_shape("t5_bias", o.t5_bias->table, {-1, p.query_heads});
    validation::require_data("t5_bias", o.t5_bias->table);
    // This call only checks the options: t5_bucket() throws if they are invalid.
    t5_bucket(0, o.t5_bias->table.size(0), o.t5_bias->max_distance, o.t5_bias->bidirectional);
  }
}

void check_sizes(const AttentionProblem& p) {
  require_equal("key", "batch", p.key.size(0), "query", p.batch);
  require_equal("key", "head dimension", p.key.size(3), "query", p.head_dim);
  require_equal("value", "batch", p.value.size(0), "query", p.batch);
  require_equal("value", "number of heads", p.value.size(1), "key", p.key_heads);
  require_equal("key", "length", p.num_keys, "value", p.value.size(2));
  if (p.head_dim < 1) fail_value("query", "head dimension 0", {"at least 1"});
  if (p.key_heads < 1 ? p.query_heads != 0 : p.query_heads % p.key_heads != 0) {
    fail(ErrorCode::kShapeMismatch, "query", {p.query_heads, " heads"},
         {"a multiple of the ", p.key_heads, " heads of key"});
  }
  require_limited("query", "length", p.num_queries);
  require_limited("query", "head dimension", p.head_dim);
  require_limited("key", "length", p.num_keys);
  require_limited("value", "head dimension", p.value_dim);
}

/// Checks the numbers of the first rows of packed sequences: they begin with 0, never decrease, and
/// end with `rows`.
void check_sequences(const char* name, const LengthsView& starts, std::int64_t rows,
                     const char* what) {
  if (starts.rank() != 1 || starts.size(0) < 2) {
    fail_shape(name, starts.shape(), {"shape (S + 1), for one sequence or more"});
  }
  validation::require_data(name, starts.shape(), starts.data(), sizeof(std::int32_t));
  const std::int64_t last = starts.size(0) - 1;
  if (starts(0) != 0) fail_value(name, starts(0), {"0 at the beginning"});
  for (std::int64_t s = 0; s < last; ++s) {
    if (starts(s + 1) < starts(s)) {
      fail_value(name, starts(s + 1), {"at least ", starts(s), ", the number before it"});
    }
  }
  if (starts(last) != rows) {
    fail_value(name, starts(last), {rows, " at the end, the number of ", what});
  }
}

/// Checks packed sequences, and rejects options that cannot be combined with them.
void check_packed(const AttentionTerms& p) {
  const AttentionOptions& o = p.options;
  if (o.cu_seqlens.is_none()) {
    if (o.cu_seqlens_k.is_none()) return;
    fail_value(
        "cu_seqlens", "none",
        {"the index of each sequence's first query, because ", Name("cu_seqlens_k"), " is set"});
  }
  if (p.batch != 1) {
    fail(ErrorCode::kShapeMismatch, "query", {"batch ", p.batch},
         {"batch 1, because ", Name("cu_seqlens"), " packs the sequences into one entry"});
  }
  check_sequences("cu_seqlens", o.cu_seqlens, p.num_queries, "queries");
  if (o.cu_seqlens_k.is_none()) {
    require_equal("key", "length", p.num_keys, "query", p.num_queries);
  } else {
    check_sequences("cu_seqlens_k", o.cu_seqlens_k, p.num_keys, "keys");
    require_equal("cu_seqlens_k", "length", o.cu_seqlens_k.size(0), "cu_seqlens",
                  o.cu_seqlens.size(0));
  }
  const std::pair<const char*, bool> rejected[] = {{"mask", o.mask.is_none()},
                                                   {"bias", o.bias.is_none()},
                                                   {"valid_lens", o.valid_lens.is_none()},
                                                   {"key_lens", o.key_lens.is_none()},
                                                   {"scaled_scores", o.scaled_scores.is_none()},
                                                   {"capped_scores", o.capped_scores.is_none()},
                                                   {"biased_scores", o.biased_scores.is_none()},
                                                   {"weights", o.weights.is_none()}};
  for (const auto& [name, is_none] : rejected) {
    if (!is_none) fail_value(name, "a tensor", {"none, because ", Name("cu_seqlens"), " is set"});
  }
}

/// Checks the options, and broadcasts their tensors in place.
void check_terms(AttentionTerms& p) {
  AttentionOptions& o = p.options;
  check_attention_numbers(o);
  p.max_distance = -1;
  o.relative_keys = check_relative("relative_keys", o.relative_keys, p.head_dim, p);
  o.relative_values = check_relative("relative_values", o.relative_values, p.value_dim, p);
  p.max_distance = std::max<std::int64_t>(p.max_distance, 0);
  check_bias(p);
  o.mask = broadcast_to_scores("mask", o.mask, p);
  o.bias = broadcast_to_scores("bias", o.bias, p);
  validation::require_lengths("valid_lens", o.valid_lens, p.batch, p.num_queries, p.num_keys,
                              "keys");
  validation::require_lengths("key_lens", o.key_lens, p.batch, -1, p.num_keys, "keys");
  check_packed(p);
  check_optional("sinks", o.sinks, {p.query_heads});
  const auto scores = {p.batch, p.query_heads, p.num_queries, p.num_keys};
  check_optional("scaled_scores", o.scaled_scores, scores);
  check_optional("capped_scores", o.capped_scores, scores);
  check_optional("biased_scores", o.biased_scores, scores);
  check_optional("weights", o.weights, scores);
  check_optional("log_sum_exp", o.log_sum_exp, {p.batch, p.query_heads, p.num_queries});
  check_optional("column_sums", o.column_sums, {p.batch, p.query_heads, p.num_keys});
}

}  // namespace

std::int64_t AttentionTerms::first_query(std::int64_t e) const {
  return is_packed() ? options.cu_seqlens(e) : 0;
}

std::int64_t AttentionTerms::queries_of(std::int64_t e) const {
  return is_packed() ? first_query(e + 1) - first_query(e) : num_queries;
}

std::int64_t AttentionTerms::first_key(std::int64_t e) const {
  return options.cu_seqlens_k.is_none() ? first_query(e) : options.cu_seqlens_k(e);
}

std::int64_t AttentionTerms::keys_of(std::int64_t e) const {
  return is_packed() ? first_key(e + 1) - first_key(e) : num_keys;
}

std::int64_t AttentionTerms::unpadded_keys_of(std::int64_t e) const {
  return options.key_lens.is_none() ? keys_of(e) : options.key_lens(e);
}

std::int64_t AttentionTerms::offset_of(std::int64_t e) const {
  return std::clamp(options.diagonal.resolve(queries_of(e), unpadded_keys_of(e)), -kFar, kFar);
}

double AttentionTerms::pairs() const {
  double sum = 0;
  for (std::int64_t e = 0; e < entries(); ++e) {
    sum += static_cast<double>(queries_of(e) * keys_of(e));
  }
  return sum;
}

void check_attention_numbers(const AttentionOptions& o) {
  if (o.scale && !std::isfinite(*o.scale)) fail_value("scale", *o.scale, {"a finite number"});
  if (!(o.softcap >= 0) || !std::isfinite(o.softcap)) {
    fail_value("softcap", o.softcap, {"0 (none) or a finite number above 0"});
  }
  validation::require_probability("dropout", o.dropout);
  if (o.window) {
    for (const auto& side : {o.window->left, o.window->right}) {
      if (side && *side < 0) {
        fail_value("window", *side, {"0 or more keys on each side"});
      }
    }
  }
}

AttentionTerms check_attention_options(const AttentionOptions& options,
                                       const AttentionSizes& sizes) {
  AttentionTerms terms{sizes, options};
  check_terms(terms);
  return terms;
}

AttentionProblem check_attention_inputs(const ConstAnyTensor& query, const StoredTensor& key,
                                        const StoredTensor& value,
                                        const AttentionOptions& options) {
  if (query.rank() < 2 || query.rank() > 4) {
    fail_shape("query", query.shape(), {"rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, D)"});
  }
  validation::require_data("query", query);
  require_rank("key", key, query.rank());
  require_rank("value", value, query.rank());

  AttentionProblem p{{{}, options}, with_heads(query), with_heads(key), with_heads(value), {}};
  p.batch = p.query.size(0);
  p.query_heads = p.query.size(1);
  p.num_queries = p.query.size(2);
  p.head_dim = p.query.size(3);
  p.key_heads = p.key.size(1);
  p.num_keys = p.key.size(2);
  p.value_dim = p.value.size(3);
  check_sizes(p);
  check_terms(p);
  return p;
}

void check_attention_output(const char* name, const ConstAnyTensor& output, int rank,
                            const AttentionSizes& sizes) {
  require_rank(name, output, rank);
  const std::array shape{sizes.batch, sizes.query_heads, sizes.num_queries, sizes.value_dim};
  if (std::ranges::equal(with_heads(output).shape(), shape)) return;
  // The message shows a shape of the same rank as the caller's tensors.
  const std::array leading{sizes.batch, sizes.num_queries, sizes.value_dim};
  const std::span<const std::int64_t> expected =
      rank == 4 ? std::span<const std::int64_t>(shape)
                : std::span<const std::int64_t>(leading).last(static_cast<std::size_t>(rank));
  fail_shape(name, output.shape(), {"shape ", expected});
}

AttentionProblem check_attention(const ConstAnyTensor& query, const StoredTensor& key,
                                 const StoredTensor& value, const AnyTensor& output,
                                 const AttentionOptions& options) {
  AttentionProblem p = check_attention_inputs(query, key, value, options);
  check_attention_output("output", output, query.rank(), p);
  p.output = with_heads(output);
  return p;
}

}  // namespace attn
