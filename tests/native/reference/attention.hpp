#pragma once

#include <cstdint>
#include <optional>

#include "reference/array.hpp"
#include "reference/scalar.hpp"

namespace reference {

/// The arguments of attention that have no gradient.
struct AttentionRules {
  std::optional<double> scale;  ///< 1/√D
  double softcap = 0;
  Array mask;  ///< broadcasts to (B, Hq, Nq, Nk)
  /// Offsets of the diagonals: (B) or (1).
  Array causal_offset;
  std::optional<std::int64_t> window_left;
  std::optional<std::int64_t> window_right;
  Array window_offset;
  Array valid_lens;  ///< (B) or (B, Nq)
  Array key_lens;    ///< (B)

  Array relative_offset;  ///< (B) or (1), for the terms that depend on distance
  bool t5_bidirectional = true;
  std::int64_t t5_max_distance = 128;

  Array kept;  ///< (B, H, Nq, Nk): the dropout factor of each weight

  /// Bounds on the errors of the core's query, key and value; zero if omitted.
  Array query_error, key_error, value_error;

  bool operator==(const AttentionRules&) const = default;
};

template <class T>
struct AttentionOf : AttentionRules {
  ArrayOf<T> query;  ///< (B, Hq, Nq, D)
  ArrayOf<T> key;    ///< (B, Hkv, Nk, D)
  ArrayOf<T> value;  ///< (B, Hkv, Nk, Dv)
  ArrayOf<T> bias;   ///< broadcasts to (B, Hq, Nq, Nk)

  ArrayOf<T> relative_keys;    ///< (H or 1, 2k+1, D)
  ArrayOf<T> relative_values;  ///< (H or 1, 2k+1, Dv)
  ArrayOf<T> alibi_slopes;     ///< (H)
  ArrayOf<T> t5_table;         ///< (buckets, H)
  ArrayOf<T> sinks;            ///< (H)

  bool operator==(const AttentionOf&) const = default;
};
using Attention = AttentionOf<double>;

AttentionOf<Scalar> variables(Tape&, const Attention&);

template <class T>
struct AttentionResultOf {
  ArrayOf<T> output;       ///< (B, Hq, Nq, Dv)
  ArrayOf<T> log_sum_exp;  ///< (B, Hq, Nq)
  // (B, Hq, Nq, Nk):
  ArrayOf<T> scaled_scores;
  ArrayOf<T> capped_scores;
  ArrayOf<T> biased_scores;  ///< −∞ where excluded
  ArrayOf<T> weights;
  Array attended;  ///< 1 where query i attends to key j, else 0

  /// First-order bounds on the errors of float32 arithmetic: the usual γ_n = n·2⁻²⁴ for each sum of
  /// n terms, times the sum of the terms' magnitudes, carried through every stage. They apply to
  /// any order of summation, with or without fused multiply-adds.
  Array output_error;
  Array log_sum_exp_error;
  Array scaled_scores_error;
  Array capped_scores_error;
  Array biased_scores_error;
  Array weights_error;
};
using AttentionResult = AttentionResultOf<double>;

/// The bucket of a distance in a T5 bias, found by comparing the distance with the bucket edges.
std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance,
                       bool bidirectional);

/// Computes attention as its contract defines it, step by step: scale, softcap, bias, exclusion,
/// softmax, sum of values. Skips excluded keys. A query with nothing to attend to has an output of
/// 0 and a log-sum-exp of −∞.
template <class T>
AttentionResultOf<T> attention(const AttentionOf<T>&);

}  // namespace reference
