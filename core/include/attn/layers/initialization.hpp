#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Xavier initialisation (Glorot & Bengio 2010), like torch.nn.init.xavier_uniform_:
///
///   weight (fan_out, fan_in) uniform in [−a, a],   a = gain · √(6 / (fan_in + fan_out))
///
/// With these weights, outputs and gradients keep the variance of their inputs. `weight` may have
/// any strides. Elements are drawn in the order of fill_uniform and are bit-identical on every
/// machine.
///
/// Throws kShapeMismatch unless `weight` has rank 2. Throws kInvalidArgument for a size of 0, a
/// null data pointer or a gain that is not a finite number ≥ 0.
ATTN_API void xavier_uniform(const Tensor& weight, const RandomStream& random, float gain = 1,
                             Context& context = Context::default_context());

}  // namespace attn
