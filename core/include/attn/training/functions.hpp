#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "attn/attention/masked_softmax.hpp"
#include "attn/export.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/training/tape.hpp"

/// Functions of variables. Each function records its computation on a tape. Its results are
/// bit-identical to the results of the tensor function of the same name, with the same error
/// bounds. All functions may throw kSizeOverflow or std::bad_alloc. They throw kInvalidArgument if
/// a variable is empty or if its tape has been cleared.
namespace attn {

/// a ∘ b, element by element, for variables of the same shape. The gradients are dy ∘ b and dy ∘ a,
/// one float product each. Throws kShapeMismatch.
ATTN_API Variable operator*(const Variable& a, const Variable& b);

/// Multiplies every element by a constant. The gradient is multiplied by the same constant.
ATTN_API Variable operator*(float factor, const Variable& x);
inline Variable operator*(const Variable& x, float factor) { return factor * x; }
inline Variable operator-(const Variable& x) { return -1.0F * x; }

/// Adds a constant to every element. The gradient is dy.
ATTN_API Variable operator+(const Variable& x, float constant);
inline Variable operator+(float constant, const Variable& x) { return x + constant; }
inline Variable operator-(const Variable& x, float constant) { return x + -constant; }
inline Variable operator-(float constant, const Variable& x) { return -x + constant; }

/// a − b, element by element, for variables of the same shape. Throws kShapeMismatch.
inline Variable operator-(const Variable& a, const Variable& b) { return a + -b; }

/// Divides every element by a constant. The gradient is divided by the same constant. As in float
/// arithmetic, a divisor of 0 gives infinity or NaN.
ATTN_API Variable operator/(const Variable& x, float divisor);

/// The mean of all elements, as a variable of rank 0. Each element has the gradient dy / n. The sum
/// is computed in double precision, in order, and rounded to float once. Throws kInvalidArgument if
/// there are no elements.
ATTN_API Variable mean(const Variable& x);

/// y = x · weightᵀ + bias, like Linear and torch.nn.functional.linear, for `x` (N, in) or (B, N,
/// in), `weight` (out, in), and `bias` (out) or none. Values and gradients have the same
/// bits and the same error bounds as with Linear. Use this function for weights that are used in
/// several places, such as an output layer tied to an embedding:
///
///   logits = linear(x, tape.parameter(embedding, "weight"))
///
/// Throws kShapeMismatch.
ATTN_API Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});

/// Returns the same elements in row-major order with another shape. One size may be −1; it is
/// computed from the others. Copies nothing. Throws kInvalidArgument for sizes below −1. May also
/// throw kShapeMismatch.
ATTN_API Variable reshape(const Variable& x, std::span<const std::int64_t> shape);
inline Variable reshape(const Variable& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, std::span<const std::int64_t>(shape.begin(), shape.size()));
}

/// Selects the indices [begin, end) of dimension `dim`; a negative `dim` counts from the last
/// dimension. The gradient of all other indices is 0. Throws kInvalidArgument for a range or a
/// dimension that `x` does not have.
ATTN_API Variable slice(const Variable& x, int dim, std::int64_t begin, std::int64_t end);

/// Selects index `at` of dimension `dim` and removes that dimension. For example, select(x, 1, n −
/// 1) is the last token of each sequence. Throws the same errors as slice().
ATTN_API Variable select(const Variable& x, int dim, std::int64_t at);

/// Joins `parts` along dimension `dim`, the only one in which their sizes may differ. Each part
/// receives its slice of the gradient. Throws kInvalidArgument if there are no parts or if they do
/// not have this dimension. May also throw kShapeMismatch.
ATTN_API Variable concatenate(std::span<const Variable> parts, int dim);
inline Variable concatenate(std::initializer_list<Variable> parts, int dim) {
  return concatenate(std::span<const Variable>(parts.begin(), parts.size()), dim);
}

/// f(x) element by element. The gradient is f'(x) · dy. For ReLU, the gradient is exact: dy where x
/// > 0 and 0 elsewhere. For the other activations, the gradient is within 1e-6·|dy| of the exact
/// value.
ATTN_API Variable apply_activation(const Variable& x, Activation activation);

/// Inverted dropout. Where a value is kept, its gradient is multiplied by the same factor as the
/// value; where a value is dropped, its gradient is 0. Outside training, returns `x` itself.
ATTN_API Variable apply_dropout(const Variable& x, const Dropout& dropout);

/// Softmax along the last dimension, over the columns that take part, like masked_softmax() for
/// tensors. If w is the result, the gradient is
///
///   dx_j = w_j · (dw_j − Σ_k w_k·dw_k)
///
/// Where w_j = 0, as in excluded columns, dx_j is 0, whatever dw_j is. To first order, dx_j is
/// within (K/64 + 70)·6e-8 · w_j·(|dw_j| + Σ_k w_k·|dw_k|) of the exact value for the same w.
ATTN_API Variable masked_softmax(const Variable& x, const MaskedSoftmaxOptions& options = {});

}  // namespace attn
