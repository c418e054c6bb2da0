#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Softmax over the elements of the last dimension that take part: `taking_part` has a flag for
/// each. Other elements get 0, and an element of −∞ counts as one that does not take part. `error`
/// bounds the error of float32 arithmetic for any order of summation in at least four lanes.
template <class T>
BoundedOf<T> masked_softmax(const ArrayOf<T>& x, const std::vector<bool>& taking_part);

}  // namespace reference
