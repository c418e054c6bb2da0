#pragma once

#include "attn/context.hpp"
#include "attn/layers/activation.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// output = f(x) ∘ factor, for equal shapes and any strides; output may be x or factor. If factor
/// is empty, output = f(x). Throws the same errors as apply_activation.
void activate(const ConstTensor& x, const ConstTensor& factor, const Tensor& output,
              Activation activation, Context& context);

}  // namespace attn
