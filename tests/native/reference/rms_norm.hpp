#pragma once

#include "reference/array.hpp"

namespace reference {

/// x / √(mean of x² + eps) · weight along the last dimension; weight may be omitted.
template <class T>
ArrayOf<T> rms_norm(const ArrayOf<T>& x, const Given<ArrayOf<T>>& weight, double eps);

}  // namespace reference
