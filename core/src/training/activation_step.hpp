#pragma once

#include "attn/layers/activation.hpp"
#include "attn/training/tape.hpp"

namespace attn::training {

/// f(x) ∘ factor, or f(x) without one, recorded under a name.
Variable activate(const char* name, const Variable& x, const Variable& factor,
                  Activation activation);

}  // namespace attn::training
