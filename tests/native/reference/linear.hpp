#pragma once

#include "reference/array.hpp"

namespace reference {

/// y = x · Wᵀ + b, where x is (…, in), weight is (out, in), bias is (out) or omitted, and y is (…,
/// out). If the error of x is omitted, it is zero.
template <class T>
BoundedOf<T> linear(const Given<BoundedOf<T>>& x, const ArrayOf<T>& weight,
                    const Given<ArrayOf<T>>& bias = {});

}  // namespace reference
