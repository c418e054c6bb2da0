#pragma once

#include "attn/layers/dropout.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "choices.hpp"
#include "pieces/pieces.hpp"
#include "reference/attention.hpp"
#include "reference/scalar.hpp"
#include "reference/transformer.hpp"

namespace attn_fuzz {

/// The options of a Transformer layer, and the additional values that the reference needs.
struct LayerChoice {
  attn::TransformerLayerOptions options;
  bool norms_add_one;

  std::int64_t head_dim() const {
    return options.head_dim.value_or(options.d_model / options.num_heads);
  }
};

/// Chooses all options except positions.
LayerChoice choose_layer(Choices& choices, std::int64_t width);

/// Chooses whether to train with dropout. Also sets the layer's option for dropout within the
/// feed-forward network.
attn::Dropout choose_dropout(Choices& choices, attn::TransformerLayerOptions& options);

/// Makes the reference layer from the module's parameters, which are given by name.
reference::TransformerLayerOf<reference::Scalar> exact_layer(const LayerChoice& choice,
                                                             const Parameters& parameters);

/// Adds dropout to the reference in each place where the layer applies it, in the layer's order,
/// with a separate random stream for each place. `cross` is null for an encoder layer.
void drop_in_places(reference::TransformerLayerOf<reference::Scalar>& layer,
                    reference::AttentionOf<reference::Scalar>& self,
                    reference::AttentionOf<reference::Scalar>* cross, const LayerChoice& choice,
                    const attn::Dropout& dropout, const Sizes& sizes, std::int64_t memory_length);

}  // namespace attn_fuzz
