#pragma once

#include <cstdint>

#include "reference/array.hpp"

namespace reference {

/// x (N, in) is one sequence, weight is (out, in, k), bias is (out) or omitted. The padding
/// consists of zeros.
template <class T>
BoundedOf<T> conv1d(const ArrayOf<T>& x, const ArrayOf<T>& weight, const Given<ArrayOf<T>>& bias,
                    std::int64_t stride, std::int64_t padding_before, std::int64_t padding_behind,
                    std::int64_t dilation);

}  // namespace reference
