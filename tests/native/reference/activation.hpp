#pragma once

#include "attn/layers/activation.hpp"

namespace reference {

using attn::Activation;

/// Every activation. The tests of all activations run over this list.
inline constexpr Activation kActivations[] = {Activation::kRelu,     Activation::kGelu,
                                              Activation::kGeluTanh, Activation::kSilu,
                                              Activation::kTanh,     Activation::kSigmoid};

/// f(x) for a double or a Scalar. GELU uses the system's erfc. The slope of ReLU at 0 is 0.
template <class T>
T activate(Activation activation, T x);

}  // namespace reference
