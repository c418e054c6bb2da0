#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Xavier initialisation (Glorot & Bengio 2010), as torch.nn.init.xavier_uniform_:
///
///   weight (fan_out, fan_in) uniform in [−a, a],   a = gain · √(6 / (fan_in + fan_out))
///
/// so that outputs and gradients keep the variance of what comes in. Any strides. The same bits on
/// every machine; elements as fill_uniform orders them.
///
/// Throws kShapeMismatch unless weight has rank 2; kInvalidArgument for a size of 0, null data or a
/// gain that is not a finite number ≥ 0.
ATTN_API void xavier_uniform(const Tensor& weight, const RandomStream& random, float gain = 1,
                             Context& context = Context::default_context());

}  // namespace attn
