#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "attention/stored_tensor.hpp"
#include "attn/any_tensor.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"
#include "rows.hpp"

namespace attn {

struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t num_queries = 0;
  std::int64_t num_keys = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

/// Checked options, together with the sizes of the scores that they apply to.
struct AttentionTerms : AttentionSizes {
  /// The options. Mask and bias are broadcast to (B, Hq, Nq, size of their last dimension),
  /// relative keys to (Hq, 2k+1, D) and relative values to (Hq, 2k+1, Dv).
  AttentionOptions options;
  std::int64_t max_distance = 0;  ///< the number k in the shapes of relative keys and values

  /// A number larger than the distance between any two tokens. All offsets beyond ±2^32 have the
  /// same effect. Sums with an offset up to ±2^32 are exact.
  static constexpr std::int64_t kFar = std::int64_t{1} << 32;

  /// The number of distances that relative keys and values distinguish.
  std::int64_t num_distances() const { return 2 * max_distance + 1; }

  /// True if several sequences follow one another in a batch of one.
  bool is_packed() const { return !options.cu_seqlens.is_none(); }

  // An entry is a sequence: a packed sequence if sequences are packed, and a batch entry otherwise.
  // The queries and keys of entry e are consecutive rows of the tensors of batch entry batch_of(e).
  std::int64_t entries() const { return is_packed() ? options.cu_seqlens.size(0) - 1 : batch; }
  std::int64_t batch_of(std::int64_t e) const { return is_packed() ? 0 : e; }
  std::int64_t first_query(std::int64_t e) const;
  std::int64_t queries_of(std::int64_t e) const;
  std::int64_t first_key(std::int64_t e) const;
  std::int64_t keys_of(std::int64_t e) const;
  /// The number of keys in entry e, not counting padding.
  std::int64_t unpadded_keys_of(std::int64_t e) const;
  /// The position of query 0 of entry e among the keys.
  std::int64_t offset_of(std::int64_t e) const;

  /// The number of tables: one per entry if entries differ in their lengths, otherwise one.
  bool differs_by_entry() const {
    return is_packed() || !(options.valid_lens.is_none() && options.key_lens.is_none());
  }
  std::int64_t tables() const { return differs_by_entry() ? entries() : 1; }
  std::int64_t table_of(std::int64_t e) const { return differs_by_entry() ? e : 0; }
  /// The number of rows of all tables together. Each packed sequence has a table with one row for
  /// each of its queries. The tables are in the order of the sequences.
  std::int64_t table_rows() const { return is_packed() ? num_queries : tables() * num_queries; }
  std::int64_t first_table_row(std::int64_t e) const {
    return is_packed() ? first_query(e) : table_of(e) * num_queries;
  }

  /// The number of pairs of a query and a key of the same entry, for one head.
  double pairs() const;

  /// True if the call has a single query. The keys of a single query are split into parts.
  bool has_one_query() const { return num_queries == 1 && !is_packed(); }

  bool has_distance_bias() const {
    return !options.alibi_slopes.is_none() || options.t5_bias.has_value();
  }
};

/// A checked call of scaled_dot_product_attention.
struct AttentionProblem : AttentionTerms {
  ConstAnyTensor query;  ///< (B, H, N, D), like `key`, `value` and `output`
  StoredTensor key, value;
  AnyTensor output;
};

/// Checks only the options that do not depend on sizes. Throws kInvalidArgument for a number
/// outside its domain.
void check_attention_numbers(const AttentionOptions& options);

/// Throws Error for options that do not fit the sizes. Callers that compute queries and keys check
/// the options before they compute them.
AttentionTerms check_attention_options(const AttentionOptions& options,
                                       const AttentionSizes& sizes);

/// The two halves of check_attention(). The first function checks everything except the output. The
/// second function checks a tensor that must have the output's shape.
AttentionProblem check_attention_inputs(const ConstAnyTensor& query, const StoredTensor& key,
                                        const StoredTensor& value, const AttentionOptions& options);
void check_attention_output(const char* name, const ConstAnyTensor& output, int rank,
                            const AttentionSizes& sizes);

/// Throws Error for invalid arguments.
AttentionProblem check_attention(const ConstAnyTensor& query, const StoredTensor& key,
                                 const StoredTensor& value, const AnyTensor& output,
                                 const AttentionOptions& options);

}  // namespace attn
