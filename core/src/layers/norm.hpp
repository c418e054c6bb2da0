#pragma once

#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "kernels/kernel_table.hpp"

/// What LayerNorm and RmsNorm have in common.
namespace attn {

/// Throws kInvalidArgument.
void check_norm_options(std::int64_t width, float eps);

/// output = the rows of x, or of x + y, normalised. `how` says everything but where the rows are,
/// `cols` included; its `statistics`, if any, are those of all rows in row-major order. Checks x, y
/// and output; shows "output".
void normalize(const Module& layer, const kernels::NormArgs& how, const ConstAnyTensor& x,
               const ConstAnyTensor* y, const AnyTensor& output, Context& context,
               Intermediates* intermediates);

}  // namespace attn
