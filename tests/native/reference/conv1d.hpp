#pragma once

#include <cstdint>

#include "reference/array.hpp"

namespace reference {

/// Convolves one sequence x (N, in) with weight (out, in, k), and adds bias (out) if it is given.
/// The padding consists of zeros.
template <class T>
BoundedOf<T> conv1d(const ArrayOf<T>& x, const ArrayOf<T>& weight, const Given<ArrayOf<T>>& bias,
                    std::int64_t stride, std::int64_t padding_before, std::int64_t padding_behind,
                    std::int64_t dilation);

}  // namespace reference
