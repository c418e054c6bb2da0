#pragma once

#include "reference/array.hpp"

namespace reference {

/// (x − mean) / √(variance + eps) · weight + bias along the last dimension; weight and bias may be
/// left out.
Array layer_norm(const Array& x, const Array& weight, const Array& bias, double eps);

}  // namespace reference
