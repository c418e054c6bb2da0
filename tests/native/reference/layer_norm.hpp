#pragma once

#include "reference/array.hpp"

namespace reference {

/// (x − mean) / √(variance + eps) · weight + bias along the last dimension; weight and bias may be
/// omitted.
template <class T>
ArrayOf<T> layer_norm(const ArrayOf<T>& x, const Given<ArrayOf<T>>& weight,
                      const Given<ArrayOf<T>>& bias, double eps);

}  // namespace reference
