#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Settings of dropout. By default, no values are dropped.
struct Dropout {
  float probability = 0;     ///< probability of setting a value to 0, in [0, 1]
  bool training = false;     ///< false means that nothing is dropped or scaled
  RandomStream random = {};  ///< source of randomness; use a new seed or stream in each step
};

/// Inverted dropout (Srivastava et al. 2014), like torch.nn.functional.dropout. In training, each
/// element becomes 0 with the given probability p and x / (1 − p) otherwise. Outside training,
/// output = x.
///
/// `x` and `output` have the same shape and any strides. `output` may be `x` itself; otherwise the
/// two must not overlap. Element i in row-major order is dropped if (w_i >> 8)·2^-24 < p, with w_i
/// as in fill_uniform, so the same elements are dropped on every machine and for any number of
/// threads. A dropped NaN or infinity becomes 0. With p = 1 everything is dropped.
///
/// Throws kShapeMismatch if the shapes differ, and kInvalidArgument for a null data pointer or a
/// probability outside [0, 1]. If it throws, `output` is unchanged.
ATTN_API void apply_dropout(const ConstTensor& x, const Tensor& output, const Dropout& dropout,
                            Context& context = Context::default_context());

}  // namespace attn
