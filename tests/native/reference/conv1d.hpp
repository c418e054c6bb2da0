#pragma once

#include <cstdint>

#include "reference/array.hpp"

namespace reference {

/// One sequence x (N, in), weight (out, in, k), bias (out) or left out; zeros around.
Bounded conv1d(const Array& x, const Array& weight, const Array& bias, std::int64_t stride,
               std::int64_t padding_before, std::int64_t padding_behind, std::int64_t dilation);

}  // namespace reference
