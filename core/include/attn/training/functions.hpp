#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "attn/attention/masked_softmax.hpp"
#include "attn/export.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/training/tape.hpp"

/// Functions of variables. They compute what those of the same name do of tensors, with the same
/// bits and errors, and record it; all throw kInvalidArgument for a variable that is none or was
/// forgotten, kSizeOverflow and std::bad_alloc.
namespace attn {

/// a ∘ b, element by element, of one shape: the gradients are dy ∘ b and dy ∘ a, one float product
/// each. Throws kShapeMismatch.
ATTN_API Variable operator*(const Variable& a, const Variable& b);

/// Every element times a constant, and so is the gradient.
ATTN_API Variable operator*(float factor, const Variable& x);
inline Variable operator*(const Variable& x, float factor) { return factor * x; }
inline Variable operator-(const Variable& x) { return -1.0F * x; }

/// Every element plus a constant: the gradient is dy.
ATTN_API Variable operator+(const Variable& x, float constant);
inline Variable operator+(float constant, const Variable& x) { return x + constant; }
inline Variable operator-(const Variable& x, float constant) { return x + -constant; }
inline Variable operator-(float constant, const Variable& x) { return -x + constant; }

/// a − b, element by element, of one shape. Throws kShapeMismatch.
inline Variable operator-(const Variable& a, const Variable& b) { return a + -b; }

/// Every element divided by a constant, and so is the gradient. As in float arithmetic, a divisor
/// of 0 gives infinity or NaN.
ATTN_API Variable operator/(const Variable& x, float divisor);

/// The mean of all elements, of rank 0: each has the gradient dy / n. Sums are in double precision
/// and in order: one rounding to float. Throws kInvalidArgument for no elements.
ATTN_API Variable mean(const Variable& x);

/// y = x · weightᵀ + bias, as Linear and torch.nn.functional.linear, of x (N, in) or (B, N, in),
/// weight (out, in) and bias (out) or none. Bits and errors of values and gradients are those of
/// Linear. For weights that are used in more than one place, such as an output layer that is tied
/// to an embedding:
///
///   logits = linear(x, tape.parameter(embedding, "weight"))
///
/// Throws kShapeMismatch.
ATTN_API Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});

/// The same elements in their row-major order, in another shape of as many; one size may be −1, and
/// is what is left. Copies nothing. Throws kShapeMismatch, kInvalidArgument for sizes below −1.
ATTN_API Variable reshape(const Variable& x, std::span<const std::int64_t> shape);
inline Variable reshape(const Variable& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, std::span<const std::int64_t>(shape.begin(), shape.size()));
}

/// Indices [begin, end) of dimension `dim`, which counts from the last one if negative; the
/// gradient of the others is 0. Throws kInvalidArgument for a range or a dimension that x does not
/// have.
ATTN_API Variable slice(const Variable& x, int dim, std::int64_t begin, std::int64_t end);

/// Index `at` of dimension `dim`, without that dimension: the last token of each sequence is
/// select(x, 1, n − 1). Errors as those of slice().
ATTN_API Variable select(const Variable& x, int dim, std::int64_t at);

/// Parts one behind the other along dimension `dim`, in which alone their sizes may differ; each is
/// given its part of the gradient. Throws kShapeMismatch, and kInvalidArgument for no part and for
/// a dimension that they do not have.
ATTN_API Variable concatenate(std::span<const Variable> parts, int dim);
inline Variable concatenate(std::initializer_list<Variable> parts, int dim) {
  return concatenate(std::span<const Variable>(parts.begin(), parts.size()), dim);
}

/// f(x) element by element. The gradient is f'(x) · dy: for ReLU dy where x > 0 and 0 elsewhere,
/// exactly; for the others within 1e-6·|dy| of the exact value.
ATTN_API Variable apply_activation(const Variable& x, Activation activation);

/// Inverted dropout: the gradient goes through where the value did, times the same factor, and is 0
/// where it was dropped. Without training, x itself.
ATTN_API Variable apply_dropout(const Variable& x, const Dropout& dropout);

/// Softmax of what takes part, see masked_softmax() of tensors. With w the result,
///
///   dx_j = w_j · (dw_j − Σ_k w_k·dw_k)
///
/// and 0, whatever dw is there, where w_j = 0, as for what is excluded. Within (K/64 + 70)·6e-8 ·
/// w_j·(|dw_j| + Σ_k w_k·|dw_k|) of the exact value of the same w, to first order.
ATTN_API Variable masked_softmax(const Variable& x, const MaskedSoftmaxOptions& options = {});

}  // namespace attn
