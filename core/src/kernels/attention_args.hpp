#pragma once

// The arguments of the attention kernels: a head, outputs for its scores, and two parts to merge.

#include <cstdint>

#include "kernels/elements_args.hpp"
#include "kernels/strided.hpp"

namespace attn::kernels {

/// Number of keys in a block that is processed along a row of scores. Blocks start at multiples of
/// this number, counted from key 0, regardless of the mask. Sums are therefore always formed in the
/// same order.
inline constexpr index kRowBlockKeys = 256;

/// The largest number of keys for which few_keys.hpp computes attention. All of these keys fit in
/// one tile. With a limit of 64 keys, few_keys.hpp was no faster than the code for many tiles.
inline constexpr index kFewKeys = 16;

/// Number of keys per part if the keys of a query are split; a multiple of kRowBlockKeys.
inline constexpr index kSplitKeys = 2 * kRowBlockKeys;

/// A mask is summarised in squares of this many queries and keys.
inline constexpr index kSummaryQueries = 16;
inline constexpr index kSummaryKeys = 64;
/// The bits of a square's summary. kHasAttended is set if some query of the square may attend to
/// some key of the square; kHasExcluded is set if some query may not attend to some key. The
/// summary of several squares is the OR of their summaries.
inline constexpr std::uint8_t kHasAttended = 1;
inline constexpr std::uint8_t kHasExcluded = 2;

/// The stages of a score on its way to a weight, in the order in which attention computes them.
enum class ScoreStage : int {
  kScaled,   ///< scores: scale · q·k plus the relative-key term
  kCapped,   ///< after softcap
  kBiased,   ///< scores after bias and exclusion; −∞ for excluded keys
  kWeights,  ///< attention weights after softmax and dropout
};

/// One head of one batch entry or packed sequence.
struct AttentionHead {
  index num_queries = 0;
  index num_keys = 0;
  index head_dim = 0;
  index value_dim = 0;

  Strided<const float> query;  ///< (num_queries, head_dim)
  Strided<const float> key;    ///< (num_keys, head_dim), unit column stride
  /// (num_keys, value_dim), unit column stride. Each row is readable up to a whole vector beyond
  /// value_dim.
  Strided<const float> value;
  /// Keys and values of any type, for a single query.
  StoredRows stored_key, stored_value;

  Strided<float> output;         ///< (num_queries, value_dim)
  float* log_sum_exp = nullptr;  ///< (num_queries) or null
  index log_sum_exp_row = 0;

  float scale = 1;
  float softcap = 0;  ///< 0: none

  // Exclusion.
  /// Query i may attend only to keys [key_begin[i], key_end[i]).
  const std::int32_t* key_begin = nullptr;
  const std::int32_t* key_end = nullptr;
  Strided<const std::uint8_t> mask;  ///< (num_queries, mask_cols), or none; zeros exclude keys
  index mask_cols = 0;               ///< number of columns of the mask; later keys are excluded
  /// The summaries of the squares of mask and bias, or none: one row for every kSummaryQueries
  /// queries and one column for every kSummaryKeys keys. The bias sets kHasExcluded only if it
  /// excludes the whole square.
  Strided<const std::uint8_t> mask_summary;

  // Bias.
  Strided<const float> bias;  ///< (num_queries, bias_cols), added to the score; or none
  index bias_cols = 0;        ///< number of columns of the bias; later keys are excluded
  /// distance_bias[j − i] is added to the score of query i and key j, for every i and j; or null.
  const float* distance_bias = nullptr;
  /// An extra score that has no value row; −∞ if there is none.
  float sink = -__builtin_inff();

  // Shaw's relative keys and values, for 2·max_distance+1 distances. Entry c applies to query i and
  // key j at distance j − (i + relative_offset) = c − max_distance. The first and last entries also
  // apply to all larger distances.
  index max_distance = 0;
  index relative_offset = 0;
  const float* packed_relative_keys = nullptr;  ///< packed (2·max_distance+1 × head_dim), or null
  /// (2·max_distance+1, value columns rounded up to whole vectors), or null
  const float* relative_values = nullptr;

  // Dropout of weights, if random_words is not null: word j of row i decides whether key j is
  // dropped.
  void (*random_words)(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                       index blocks, std::uint32_t* words) noexcept = nullptr;
  std::uint64_t random_seed = 0;
  std::uint64_t random_stream = 0;
  index dropout_row = 0;         ///< number of rows of weights that precede this head's rows
  std::uint32_t drop_below = 0;  ///< limit of random words: a weight is dropped if its word is
                                 ///< below this number
  float dropout_scale = 1;
};

/// A head with bf16 query, key and value; without relative keys and values and without dropout.
struct Bf16AttentionHead : AttentionHead {
  Strided<const std::uint16_t> query;  ///< (num_queries, head_dim)
  Strided<const std::uint16_t> key;    ///< (num_keys, head_dim), unit column stride
  Strided<const std::uint16_t> value;  ///< (num_keys, value_dim), unit column stride
};

/// The output for the scores at one stage: (num_queries, num_keys).
struct ScoreOutput {
  ScoreStage stage = ScoreStage::kWeights;
  float* data = nullptr;
  index row = 0;
  index col = 1;
  /// Adds the weights of all queries to one row of sums, `data`. Then stage is kWeights, row is 0
  /// and col is 1.
  bool adds = false;
};

/// Merges the output rows and log-sum-exps of attention over two parts of the keys. A part whose
/// log-sum-exp is −∞ is not read. out may be a or b.
struct MergeArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> a;
  const float* log_sum_exp_a = nullptr;
  index log_sum_exp_a_row = 0;
  Strided<const float> b;
  const float* log_sum_exp_b = nullptr;
  index log_sum_exp_b_row = 0;
  Strided<float> out;            ///< or none
  float* log_sum_exp = nullptr;  ///< or null
  index log_sum_exp_row = 0;
  float* weights = nullptr;  ///< (rows, 2): the factors on a and b; or null
};

}  // namespace attn::kernels
