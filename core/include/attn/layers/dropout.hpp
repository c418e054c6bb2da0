#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// How, and whether, values are dropped. Made by default, nothing is.
struct Dropout {
  float probability = 0;     ///< of a value to become 0, in [0, 1]
  bool training = false;     ///< without training nothing is dropped or scaled
  RandomStream random = {};  ///< change seed or stream from step to step
};

/// Inverted dropout (Srivastava et al. 2014), as torch.nn.functional.dropout: in training each
/// element becomes 0 with the given probability p, and x / (1 − p) otherwise; else output = x.
///
/// x and output of the same shape, any strides; output may be x itself, otherwise they must not
/// overlap. Element i in row-major order is dropped when (w_i >> 8)·2^-24 < p, with w_i as in
/// fill_uniform: the same elements on every machine and for every number of threads. A dropped NaN
/// or infinity becomes 0.
///
/// Throws kShapeMismatch when the shapes differ; kInvalidArgument for a probability outside [0, 1]
/// or null data. output is then untouched. With p = 1 everything is dropped.
ATTN_API void apply_dropout(const ConstTensor& x, const Tensor& output, const Dropout& dropout,
                            Context& context = Context::default_context());

}  // namespace attn
