#pragma once

#include "reference/array.hpp"

namespace reference {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or left out, y (…, out). An error of x
/// that is left out is zero.
Bounded linear(const Bounded& x, const Array& weight, const Array& bias = {});

}  // namespace reference
