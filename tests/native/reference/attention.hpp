#pragma once

#include <cstdint>
#include <optional>

#include "reference/array.hpp"

namespace reference {

struct Attention {
  Array query;  ///< (B, Hq, Nq, D)
  Array key;    ///< (B, Hkv, Nk, D)
  Array value;  ///< (B, Hkv, Nk, Dv)
  /// How far what the core is given may be from these; none when left out.
  Array query_error, key_error, value_error;

  std::optional<double> scale;  ///< 1/√D
  double softcap = 0;
  Array bias;  ///< broadcasts to (B, Hq, Nq, Nk)
  Array mask;  ///< broadcasts to (B, Hq, Nq, Nk)
  /// Offsets of diagonals: (B) or (1).
  Array causal_offset;
  std::optional<std::int64_t> window_left;
  std::optional<std::int64_t> window_right;
  Array window_offset;
  Array valid_lens;  ///< (B) or (B, Nq)
  Array key_lens;    ///< (B)

  Array relative_offset;  ///< (B) or (1), for the terms by distance below
  Array relative_keys;    ///< (H or 1, 2k+1, D)
  Array relative_values;  ///< (H or 1, 2k+1, Dv)
  Array alibi_slopes;     ///< (H)
  Array t5_table;         ///< (buckets, H)
  bool t5_bidirectional = true;
  std::int64_t t5_max_distance = 128;

  Array sinks;  ///< (H)
  Array kept;   ///< (B, H, Nq, Nk): what dropout multiplies each weight by
};

struct AttentionResult {
  Array output;       ///< (B, Hq, Nq, Dv)
  Array log_sum_exp;  ///< (B, Hq, Nq)
  // (B, Hq, Nq, Nk):
  Array scaled_scores;
  Array capped_scores;
  Array biased_scores;  ///< −∞ where excluded
  Array weights;
  Array attended;  ///< 1 where query i attends to key j, else 0

  /// Bounds, to first order, on what float32 arithmetic may be off by: the usual γ_n = n·2⁻²⁴ for
  /// each sum of n terms, on the sum of the terms' magnitudes, carried through every stage. They
  /// hold for any order of summation and with or without fused multiply-adds.
  Array output_error;
  Array log_sum_exp_error;
  Array scaled_scores_error;
  Array capped_scores_error;
  Array biased_scores_error;
  Array weights_error;
};

/// The bucket of a T5 bias, found by comparing with the edges of the buckets.
std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance,
                       bool bidirectional);

/// The attention contract, step by step: scale, softcap, bias, exclusion, softmax, sum of values.
/// What is excluded is skipped; a query with nothing to attend to gives 0 and −∞.
AttentionResult attention(const Attention&);

}  // namespace reference
