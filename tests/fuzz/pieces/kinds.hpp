#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/layers/activation.hpp"
#include "attn/random.hpp"
#include "attn/training/tape.hpp"
#include "choices.hpp"
#include "pieces/pieces.hpp"
#include "reference/activation.hpp"
#include "reference/array.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/scalar.hpp"

/// Each kind of piece, and the functions that several kinds share.
namespace attn_fuzz {

// layers.cpp
Piece linear(Choices& choices, Sizes& sizes);
Piece norm(Choices& choices, const Sizes& sizes);
Piece feed_forward(Choices& choices, const Sizes& sizes);
Piece activation(Choices& choices);
Piece square();
Piece dropout(Choices& choices);
/// Some tokens, or some channels.
Piece slice(Choices& choices, Sizes& sizes);

// sequences.cpp
Piece recurrent(Choices& choices, Sizes& sizes);
Piece convolution(Choices& choices, Sizes& sizes);
Piece pooling(Choices& choices, const Sizes& sizes);
/// Bahdanau's decoder, with x as the encoder's outputs.
Piece decoder(Choices& choices, Sizes& sizes);

// attention.cpp
/// Needs a width of 2 or more.
Piece rotary(Choices& choices, const Sizes& sizes);
/// Self-attention with any of its terms.
Piece attention(Choices& choices, const Sizes& sizes);

// transformer.cpp
Piece encoder_layer(Choices& choices, const Sizes& sizes);
/// Its memory is x / 2.
Piece decoder_layer(Choices& choices, const Sizes& sizes);

struct ActivationPair {
  attn::Activation recorded;
  reference::Activation exact;
};

ActivationPair choose_activation(Choices& choices);
attn::RandomStream choose_stream(Choices& choices);
/// A divisor of a width.
std::int64_t choose_heads(Choices& choices, std::int64_t width);

/// The factors that dropout applies to elements.
reference::Array kept_elements(const std::vector<std::int64_t>& shape, float probability,
                               const attn::RandomStream& random);
/// The factors that dropout applies to weights (B, H, Nq, Nk). Row r, counted over all rows, takes
/// its random words from block r·⌈Nk/4⌉ on.
reference::Array kept_weights(const std::vector<std::int64_t>& shape, float probability,
                              const attn::RandomStream& random);

/// Multi-head attention with a module's parameters; as many heads of keys as of queries unless
/// there are `num_kv_heads`.
reference::MultiHeadAttentionOf<reference::Scalar> exact_heads(const Parameters& parameters,
                                                               std::int64_t num_heads,
                                                               std::int64_t num_kv_heads);

/// The parameter of this name, or an empty array.
Scalars given(const Parameters& parameters, const std::string& name);
/// Rows [begin, end) of an array; empty for an empty array.
Scalars rows_of(const Scalars& x, std::int64_t begin, std::int64_t end);

/// A piece for a layer that takes and returns a variable.
template <class Layer, class Exact>
Piece piece_of(const char* name, std::shared_ptr<Layer> layer, Exact exact) {
  return {name, layer, [layer](attn::Tape&, const attn::Variable& x) { return layer->forward(x); },
          exact};
}

}  // namespace attn_fuzz
