#pragma once

#include <cstdint>

#include "attn/tensor_view.hpp"

namespace attn {

/// Checks the positions of `rows` rows in each of `batch` batch entries. The shape is (N) or (B, N)
/// or, if `axes` is above 0, also (A, B, N) or (A, 1, N). Returns the largest position, or 0 if no
/// position is above 0. Throws kShapeMismatch or kInvalidArgument.
double check_rotary_positions(const char* name, const TensorView<const double>& positions,
                              std::int64_t axes, std::int64_t batch, std::int64_t rows);

}  // namespace attn
