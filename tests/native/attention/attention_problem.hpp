#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/attention.hpp"

namespace attn_test {

struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t query_heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t num_queries = 1;
  std::int64_t num_keys = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
};

/// One call of scaled_dot_product_attention, with memory for its inputs. The vectors below are
/// row-major; `layout` is the memory layout of the tensors that are passed to the core.
struct AttentionProblem {
  AttentionSizes sizes;
  /// Rank of query, key, value and output. Rank 3 requires one head; rank 2 also requires a batch
  /// of 1.
  int rank = 4;
  Layout layout = Layout::kContiguous;

  std::vector<float> query, key, value;

  std::optional<float> scale;
  float softcap = 0;
  std::vector<float> bias;
  std::vector<std::int64_t> bias_shape;
  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> mask_shape;
  attn::Diagonal diagonal = attn::Diagonal::top_left();
  bool causal = false;
  std::optional<attn::Window> window;
  std::vector<std::int32_t> valid_lens;  ///< valid lengths, (batch) or (batch, num_queries)
  std::vector<std::int32_t> key_lens;    ///< batch values
  /// The index of each packed sequence's first query and first key; empty without packed sequences.
  /// The reference does not support packed sequences, so compare each sequence_of() the problem
  /// with the reference separately.
  std::vector<std::int32_t> cu_seqlens, cu_seqlens_k;

  std::int64_t max_distance = 0;  ///< largest distance in relative keys and values
  bool relative_per_head = false;
  std::vector<float> relative_keys, relative_values;
  std::vector<float> alibi_slopes;
  std::vector<float> t5_table;  ///< the table of T5 biases, (buckets, query heads)
  bool t5_bidirectional = true;
  std::int64_t t5_max_distance = 128;

  std::vector<float> sinks;
  float dropout = 0;
  attn::RandomStream dropout_random;

  /// Makes a problem with standard normal queries, keys and values.
  AttentionProblem(const AttentionSizes& sizes_, Random& random)
      : sizes(sizes_),
        query(random.normals(count(query_shape()))),
        key(random.normals(count(key_shape()))),
        value(random.normals(count(value_shape()))) {}

  std::vector<std::int64_t> query_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.head_dim};
  }
  std::vector<std::int64_t> key_shape() const {
    return {sizes.batch, sizes.key_heads, sizes.num_keys, sizes.head_dim};
  }
  std::vector<std::int64_t> value_shape() const {
    return {sizes.batch, sizes.key_heads, sizes.num_keys, sizes.value_dim};
  }
  std::vector<std::int64_t> output_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.value_dim};
  }
  std::vector<std::int64_t> score_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.num_keys};
  }
  std::vector<std::int64_t> row_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries};
  }
  std::vector<std::int64_t> column_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_keys};
  }
  std::vector<std::int64_t> valid_lens_shape() const {
    if (static_cast<std::int64_t>(valid_lens.size()) == sizes.batch) return {sizes.batch};
    return {sizes.batch, sizes.num_queries};
  }

  static std::int64_t count(const std::vector<std::int64_t>& shape) {
    std::int64_t result = 1;
    for (const std::int64_t size : shape) result *= size;
    return result;
  }

  /// The result of the double-precision reference.
  reference::AttentionResult expected() const { return reference::attention(reference_call()); }

  /// The same call for the reference.
  reference::Attention reference_call() const {
    reference::Attention p;
    p.query = reference::Array(query_shape(), query);
    p.key = reference::Array(key_shape(), key);
    p.value = reference::Array(value_shape(), value);
    if (scale) p.scale = *scale;
    p.softcap = softcap;
    if (!bias.empty()) p.bias = reference::Array(bias_shape, bias);
    if (!mask.empty()) p.mask = reference::Array(mask_shape, mask);
    if (causal) p.causal_offset = offsets();
    if (window) {
      p.window_left = window->left;
      p.window_right = window->right;
      p.window_offset = offsets();
    }
    if (!valid_lens.empty()) p.valid_lens = reference::Array(valid_lens_shape(), valid_lens);
    if (!key_lens.empty()) p.key_lens = reference::Array({sizes.batch}, key_lens);

    p.relative_offset = offsets();
    const std::int64_t distances = 2 * max_distance + 1;
    const std::int64_t tables = relative_per_head ? sizes.query_heads : 1;
    if (!relative_keys.empty()) {
      p.relative_keys = reference::Array({tables, distances, sizes.head_dim}, relative_keys);
    }
    if (!relative_values.empty()) {
      p.relative_values = reference::Array({tables, distances, sizes.value_dim}, relative_values);
    }
    if (!alibi_slopes.empty()) {
      p.alibi_slopes = reference::Array({sizes.query_heads}, alibi_slopes);
    }
    if (!t5_table.empty()) p.t5_table = reference::Array(t5_shape(), t5_table);
    p.t5_bidirectional = t5_bidirectional;
    p.t5_max_distance = t5_max_distance;

    if (!sinks.empty()) p.sinks = reference::Array({sizes.query_heads}, sinks);
    if (dropout > 0) p.kept = kept_by_dropout();
    return p;
  }

  std::vector<std::int64_t> t5_shape() const {
    const std::int64_t heads = sizes.query_heads;
    return {t5_table.empty() ? 0 : static_cast<std::int64_t>(t5_table.size()) / heads, heads};
  }
  std::vector<std::int64_t> relative_shape(std::int64_t width) const {
    if (relative_per_head) return {sizes.query_heads, 2 * max_distance + 1, width};
    return {2 * max_distance + 1, width};
  }

 private:
  /// The offset of the diagonal in each batch entry.
  reference::Array offsets() const {
    reference::Array result({sizes.batch});
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      const std::int64_t keys =
          key_lens.empty() ? sizes.num_keys : key_lens[static_cast<std::size_t>(b)];
      result.at({b}) = static_cast<double>(diagonal.resolve(sizes.num_queries, keys));
    }
    return result;
  }

  /// The factor that dropout applies to each weight. Row r of the weights, counted over batch and
  /// heads, takes its random words from block r·⌈Nk/4⌉ onwards, one word per key.
  reference::Array kept_by_dropout() const {
    reference::Array kept(score_shape());
    const std::int64_t blocks = (sizes.num_keys + 3) / 4;
    for (std::size_t at = 0; at < kept.values.size(); ++at) {
      const std::int64_t row = static_cast<std::int64_t>(at) / sizes.num_keys;
      const std::int64_t key = static_cast<std::int64_t>(at) % sizes.num_keys;
      const auto words = dropout_random.words(static_cast<std::uint64_t>(row * blocks + key / 4));
      const double uniform = words[static_cast<std::size_t>(key % 4)] * 0x1p-32;
      kept.values[at] = uniform >= dropout ? 1 / (1 - static_cast<double>(dropout)) : 0;
    }
    return kept;
  }
};

/// (B, H, N, D) = (2, 4, 60, 20) with grouped heads and more than one block of keys.
inline AttentionProblem grouped_problem(Random& random) {
  return AttentionProblem({.batch = 2,
                           .query_heads = 4,
                           .key_heads = 2,
                           .num_queries = 60,
                           .num_keys = 300,
                           .head_dim = 20,
                           .value_dim = 12},
                          random);
}

/// A mask (num_queries, num_keys) of documents that follow one another: a query attends to the keys
/// of its own document. Documents have the lengths 64, 1, 63, 0, 65, 128, 5 and so on, over and
/// over. Document boundaries of queries and keys are the same.
std::vector<std::uint8_t> document_mask(std::int64_t num_queries, std::int64_t num_keys);

/// Lets one of every 16 rows of a mask attend to all keys, so that no tile of the mask can be
/// skipped. Returns the changed rows.
std::vector<std::int64_t> let_some_rows_attend_to_all(std::vector<std::uint8_t>& mask,
                                                      std::int64_t num_queries,
                                                      std::int64_t num_keys);

/// Returns entry b of a batch as a separate problem. Bias and mask may have a batch dimension.
AttentionProblem entry_of(const AttentionProblem& batch, std::int64_t b);

/// Returns the index of the first row of each packed sequence, followed by the sum of the lengths.
std::vector<std::int32_t> cumulative(const std::vector<std::int32_t>& lengths);

/// Returns packed sequence s as a separate problem.
AttentionProblem sequence_of(const AttentionProblem& packed, std::int64_t s);

/// Rows [begin, end) of every head of `all` (1, heads, rows, ·).
std::vector<float> rows_of(const std::vector<float>& all, std::int64_t heads, std::int64_t rows,
                           std::int64_t begin, std::int64_t end);

/// The part of `all` (1, Hq, Nq, ·) or (1, Hkv, Nk, ·) that belongs to packed sequence s.
std::vector<float> queries_of(const AttentionProblem& packed, const std::vector<float>& all,
                              std::int64_t s);
std::vector<float> keys_of(const AttentionProblem& packed, const std::vector<float>& all,
                           std::int64_t s);

/// Random diagonals, windows and lengths that fit the sizes, including edge cases and extremes.
attn::Diagonal random_diagonal(const AttentionSizes&, Random&);
attn::Window random_window(const AttentionSizes&, Random&);
std::vector<std::int32_t> random_lengths(std::int64_t count, std::int64_t num_keys, Random&);

/// Copies of the tensors in a problem's options, such as mask and bias, in the problem's layout.
class AttentionInputs {
 public:
  explicit AttentionInputs(const AttentionProblem&);

  /// The options; they are valid during the lifetime of this object.
  attn::AttentionOptions options() const;

 private:
  const AttentionProblem& problem_;
  HostTensor<std::uint8_t> mask_;
  HostTensor<std::int32_t> valid_lens_, key_lens_, cu_seqlens_, cu_seqlens_k_;
  FloatTensor bias_, relative_keys_, relative_values_, alibi_slopes_, t5_table_, sinks_;
};

/// The results to request in addition to the output.
struct AttentionWants {
  bool scores = false;  ///< scaled, capped and biased scores
  bool weights = false;
  bool log_sum_exp = false;
  bool column_sums = false;
};

struct AttentionOutputs {
  std::vector<float> output, log_sum_exp, scaled_scores, capped_scores, biased_scores, weights,
      column_sums;
};

/// The output, the weights and the column sums of entry b of a batch.
AttentionOutputs entry_of(const AttentionOutputs&, const AttentionSizes&, std::int64_t b);

/// Calls the core. Each output has the strides that the problem chooses. Beforehand, it is filled
/// with a number that no result can equal.
AttentionOutputs attend(const AttentionProblem&, attn::Context&,
                        const AttentionWants& = {true, true, true});

/// Calls the core with all outputs and compares each output with the reference. A separate call
/// computes the column sums, because a call that requests them never takes the paths for few keys
/// and for bfloat16.
void expect_matches_reference(const AttentionProblem&, attn::Context&);

/// The column sums (B, Hq, Nk) of the reference's weights, and bounds on their errors.
struct ColumnSums {
  reference::Array exact, error;
};
ColumnSums column_sums(const reference::AttentionResult&);

/// The error that rounding weights to bfloat16 adds to an output: 2^-8 · Σ_j w_j·|v_j − o|.
reference::Array rounding_of_weights(const AttentionProblem& p,
                                     const reference::AttentionResult& exact);

}  // namespace attn_test
