#pragma once

#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "kernels/kernel_table.hpp"

/// The shared code of LayerNorm and RmsNorm.
namespace attn {

/// Throws kInvalidArgument.
void check_norm_options(std::int64_t width, float eps);

/// output = the rows of x, or of x + y, normalised. `how` contains everything except the addresses
/// of rows, including `cols`; its `statistics`, if any, are for all rows in row-major order. Checks
/// x, y and output; provides "output".
void normalize(const Module& layer, const kernels::NormArgs& how, const ConstAnyTensor& x,
               const ConstAnyTensor* y, const AnyTensor& output, Context& context,
               Intermediates* intermediates);

}  // namespace attn
