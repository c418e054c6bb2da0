#pragma once

#include "attn/layers/dropout.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "choices.hpp"
#include "pieces/pieces.hpp"
#include "reference/activation.hpp"
#include "reference/attention.hpp"
#include "reference/scalar.hpp"
#include "reference/transformer.hpp"

namespace attn_fuzz {

/// The options of a Transformer layer, with everything that the references need.
struct LayerChoice {
  attn::TransformerLayerOptions options;
  reference::Activation activation;
  bool norms_add_one;

  std::int64_t head_dim() const {
    return options.head_dim.value_or(options.d_model / options.num_heads);
  }
};

/// Chooses all options except positions.
LayerChoice choose_layer(Choices& choices, std::int64_t width);

/// No dropout, or one that acts in training. Also sets the layer's option that says whether dropout
/// acts within its feed-forward network.
attn::Dropout choose_dropout(Choices& choices, attn::TransformerLayerOptions& options);

/// Makes the reference's layer from a module's parameters by name.
reference::TransformerLayerOf<reference::Scalar> exact_layer(const LayerChoice& choice,
                                                             const Parameters& parameters);

/// Applies dropout in each of a layer's places, in order, with one stream for each; `cross` is null
/// in an encoder.
void drop_in_places(reference::TransformerLayerOf<reference::Scalar>& layer,
                    reference::AttentionOf<reference::Scalar>& self,
                    reference::AttentionOf<reference::Scalar>* cross, const LayerChoice& choice,
                    const attn::Dropout& dropout, const Sizes& sizes, std::int64_t memory_length);

}  // namespace attn_fuzz
