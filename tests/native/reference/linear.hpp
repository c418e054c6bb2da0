#pragma once

#include "reference/array.hpp"

namespace reference {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or omitted, y (…, out). The error of x
/// is zero if omitted.
template <class T>
BoundedOf<T> linear(const Given<BoundedOf<T>>& x, const ArrayOf<T>& weight,
                    const Given<ArrayOf<T>>& bias = {});

}  // namespace reference
