#pragma once

#include "reference/array.hpp"

namespace reference {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or left out, y (…, out). An error of x
/// that is left out is zero.
template <class T>
BoundedOf<T> linear(const Given<BoundedOf<T>>& x, const ArrayOf<T>& weight,
                    const Given<ArrayOf<T>>& bias = {});

}  // namespace reference
