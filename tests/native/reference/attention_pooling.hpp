#pragma once

#include <cstdint>
#include <functional>

#include "reference/array.hpp"

namespace reference {

/// One sequence: query (Nq, ·), key (Nk, ·), value (Nk, Dv).
struct Pooling {
  enum class Score { kScaledDot, kGaussian, kBoxcar, kEpanechnikov, kAverage, kAdditive };

  Score score = Score::kScaledDot;
  double parameter = 1;  ///< scale or width
  bool hard = false;
  Array query, key, value;
  /// For kAdditive: W_q (hidden, ·), W_k (hidden, ·), w_v (1, hidden).
  Array query_weight, key_weight, score_weight;
  /// Whether query i attends to key j; all when left out.
  std::function<bool(std::int64_t i, std::int64_t j)> attends;
};

struct PoolingResult {
  Bounded output;   ///< (Nq, Dv)
  Bounded scores;   ///< (Nq, Nk)
  Bounded weights;  ///< (Nq, Nk)
};

PoolingResult attention_pooling(const Pooling&);

}  // namespace reference
