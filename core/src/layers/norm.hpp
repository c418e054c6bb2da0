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

/// Normalises the rows of x, or of x + y, and writes them to output. `args` contains all arguments
/// of the kernel except the addresses of rows, including `cols`; its `statistics`, if any, are for
/// all rows in row-major order. Checks x, y and output, and provides the intermediate "output".
void normalize(const Module& layer, const kernels::NormArgs& args, const ConstAnyTensor& x,
               const ConstAnyTensor* y, const AnyTensor& output, Context& context,
               Intermediates* intermediates);

}  // namespace attn
