#pragma once

#include <cstdint>

#include "kernels/strided.hpp"

namespace attn::kernels {

/// How a score is computed from a query and a key.
enum class PairScore : int {
  kAdditive,      ///< Σ_d w_d·tanh(q_d + k_d)
  kDot,           ///< factor · Σ_d q_d·k_d
  kGaussian,      ///< factor · Σ_d (q_d − k_d)²
  kBoxcar,        ///< 1 where factor·‖q − k‖ < 1, else 0
  kEpanechnikov,  ///< max(1 − factor·‖q − k‖, 0)
  kConstant,      ///< 1
};

/// Pools the values of one batch entry. Weights are the softmax of the scores or, for kBoxcar and
/// the kinds after it, the scores divided by their sum. A query whose weights sum to zero gets
/// zeros. Excluded keys, and keys beyond a kernel's edge, are not used in any computation.
struct PoolingArgs {
  PairScore score = PairScore::kDot;
  bool hard = false;  ///< true if the first key with the highest score gets weight 1
  float factor = 1;
  index num_keys = 0;
  index depth = 0;
  index value_dim = 0;
  Strided<const float> query;             ///< (queries, depth)
  const float* packed_keys = nullptr;     ///< packed (num_keys × depth); none for kConstant
  const float* column_weights = nullptr;  ///< (depth), for kAdditive
  Strided<const float> value;             ///< (num_keys, value_dim)
  Strided<float> output;                  ///< (queries, value_dim)
  const std::int32_t* key_end = nullptr;  ///< end of each query's keys: query i attends only to
                                          ///< keys [0, key_end[i])
  Strided<const std::uint8_t> mask;       ///< (queries, num_keys), or none; zeros exclude keys
  float excluded_score = 0;
  Strided<float> scores;   ///< (queries, num_keys) or none
  Strided<float> weights;  ///< (queries, num_keys) or none
};

}  // namespace attn::kernels
