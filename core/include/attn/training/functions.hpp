#pragma once

#include "attn/export.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/training/tape.hpp"

/// Functions of variables. They compute what those of the same name do of tensors, with the same
/// bits and errors, and record it; all throw kInvalidArgument for a variable that is none or was
/// forgotten, kSizeOverflow and std::bad_alloc.
namespace attn {

/// f(x) element by element. The gradient is f'(x) · dy: for ReLU dy where x > 0 and 0 elsewhere,
/// exactly; for the others within 1e-6·|dy| of the exact value.
ATTN_API Variable apply_activation(const Variable& x, Activation activation);

/// Inverted dropout: the gradient goes through where the value did, times the same factor, and is 0
/// where it was dropped. Without training, x itself.
ATTN_API Variable apply_dropout(const Variable& x, const Dropout& dropout);

}  // namespace attn
