#pragma once

#include "attn/context.hpp"
#include "attn/tensor_view.hpp"

/// Matrix products of backward passes. They throw std::bad_alloc.
namespace attn::training {

/// Views (rows, cols) as (cols, rows).
ConstTensor transposed(const ConstTensor& x);

/// Views a row-major tensor of shape (B, N, width) as (B·N, width).
template <class T>
TensorView<T> as_rows(const TensorView<T>& x) {
  if (x.rank() == 2) return x;
  return TensorView<T>(x.data(), {x.size(0) * x.size(1), x.size(2)});
}

/// c = a · bᵀ: a (rows, depth), b (cols, depth), c (rows, cols).
void multiply(const ConstTensor& a, const ConstTensor& b, const Tensor& c, Context& context);

/// c = aᵀ · b: a (depth, rows), b (depth, cols), c (rows, cols). If a row of `a` contains only
/// zeros, it is the gradient of a token that no query attends to. It is skipped, even if the same
/// row of `b` is not finite.
void multiply_transposed(const ConstTensor& a, const ConstTensor& b, const Tensor& c,
                         Context& context);

}  // namespace attn::training
