#pragma once

#include "attn/context.hpp"
#include "attn/layers/activation.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// output = f(x) ∘ factor, of one shape and any strides; output may be x or factor. Without a
/// factor (none), f(x). Throws what apply_activation does.
void activate(const ConstTensor& x, const ConstTensor& factor, const Tensor& output,
              Activation activation, Context& context);

}  // namespace attn
