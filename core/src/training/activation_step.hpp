#pragma once

#include "attn/layers/activation.hpp"
#include "attn/training/tape.hpp"

namespace attn::training {

/// Computes and records f(x) ∘ factor, or f(x) if there is no factor, under the given name.
Variable activate(const char* name, const Variable& x, const Variable& factor,
                  Activation activation);

}  // namespace attn::training
