#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

struct CrossEntropy {
  std::vector<std::int64_t> targets;  ///< (N); each is a class or `ignore_index`
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
};

/// torch.nn.functional.cross_entropy of logits (N, V): the mean, over the targets that are not
/// ignored, of (1 − ε)·(−log p_target) + ε/V · Σ_v (−log p_v).
template <class T>
T cross_entropy(const CrossEntropy&, const ArrayOf<T>& logits);

/// The mean of (x − target)² over all elements.
template <class T>
T mean_squared_error(const ArrayOf<T>& x, const Given<ArrayOf<T>>& target);

}  // namespace reference
