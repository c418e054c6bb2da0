#pragma once

#include <cstdint>
#include <functional>

#include "reference/array.hpp"
#include "reference/scalar.hpp"

namespace reference {

enum class PoolingScore { kScaledDot, kGaussian, kBoxcar, kEpanechnikov, kAverage, kAdditive };

/// One sequence: query (Nq, ·), key (Nk, ·), value (Nk, Dv).
template <class T>
struct PoolingOf {
  using Score = PoolingScore;

  Score score = Score::kScaledDot;
  T parameter = 1;  ///< the scale of dot products or the width of a kernel
  bool hard = false;
  ArrayOf<T> query, key, value;
  /// For kAdditive: W_q (hidden, ·), W_k (hidden, ·), w_v (1, hidden).
  ArrayOf<T> query_weight, key_weight, score_weight;
  /// Returns true if query i attends to key j. If the function is omitted, every query attends to
  /// every key.
  std::function<bool(std::int64_t i, std::int64_t j)> attends;
};
using Pooling = PoolingOf<double>;

PoolingOf<Scalar> variables(Tape&, const Pooling&);

template <class T>
struct PoolingResultOf {
  BoundedOf<T> output;   ///< (Nq, Dv)
  BoundedOf<T> scores;   ///< (Nq, Nk)
  BoundedOf<T> weights;  ///< (Nq, Nk)
};
using PoolingResult = PoolingResultOf<double>;

/// Computes attention pooling. At a distance of 0, the derivative of the distance counts as 0.
/// Kernels with an edge have no derivative at the edge.
template <class T>
PoolingResultOf<T> attention_pooling(const PoolingOf<T>&);

}  // namespace reference
