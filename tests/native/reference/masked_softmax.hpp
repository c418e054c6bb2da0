#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Softmax over the last dimension of those elements that take part: `taking_part` has one flag for
/// each. Others get 0, and −∞ is as if it did not take part. `error` is what float32 arithmetic may
/// be off by, for any order of summation in at least four lanes.
template <class T>
BoundedOf<T> masked_softmax(const ArrayOf<T>& x, const std::vector<bool>& taking_part);

}  // namespace reference
