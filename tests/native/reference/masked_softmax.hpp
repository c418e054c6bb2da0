#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Softmax along the last dimension, over the elements that take part. `taking_part` has a flag for
/// each element. The other elements get 0, and an element of −∞ counts as not taking part. `error`
/// bounds the error of float32 arithmetic for any order of summation in at least four lanes.
template <class T>
BoundedOf<T> masked_softmax(const ArrayOf<T>& x, const std::vector<bool>& taking_part);

}  // namespace reference
