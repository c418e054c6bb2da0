#pragma once

namespace reference {

enum class Activation { kRelu, kGelu, kGeluTanh, kSilu };

/// max(x, 0), whose slope at 0 counts as 0.
template <class T>
T relu(T x);
/// x·Φ(x), using the system's erfc.
template <class T>
T gelu(T x);
/// The tanh approximation of GELU.
template <class T>
T gelu_tanh(T x);
/// x / (1 + e⁻ˣ)
template <class T>
T silu(T x);

template <class T>
T activate(Activation activation, T x) {
  switch (activation) {
    case Activation::kRelu:
      return relu(x);
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    default:
      return silu(x);
  }
}

}  // namespace reference
