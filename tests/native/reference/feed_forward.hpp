#pragma once

#include "reference/activation.hpp"
#include "reference/array.hpp"

namespace reference {

template <class T>
struct FeedForwardOf {
  Activation activation = Activation::kRelu;
  ArrayOf<T> weight1, bias1;  ///< (hidden, E), (hidden) or omitted
  ArrayOf<T> weight2, bias2;  ///< (E, hidden), (E) or omitted
  Array kept = {};            ///< (…, hidden): dropout factors of the hidden layer
};
using FeedForward = FeedForwardOf<double>;

/// f(x · W₁ᵀ + b₁) · W₂ᵀ + b₂: x (…, E).
template <class T>
ArrayOf<T> feed_forward(const FeedForwardOf<T>&, const ArrayOf<T>& x);

template <class T>
struct GatedFeedForwardOf {
  Activation activation = Activation::kSilu;
  ArrayOf<T> gate_weight, up_weight;  ///< (hidden, E)
  ArrayOf<T> down_weight;             ///< (E, hidden)
  Array kept = {};                    ///< (…, hidden): dropout factors of the hidden layer
};
using GatedFeedForward = GatedFeedForwardOf<double>;

/// (f(x · W_gateᵀ) ∘ (x · W_upᵀ)) · W_downᵀ: SwiGLU if f is SiLU, GeGLU if f is GELU. x is (…, E).
template <class T>
ArrayOf<T> gated_feed_forward(const GatedFeedForwardOf<T>&, const ArrayOf<T>& x);

}  // namespace reference
