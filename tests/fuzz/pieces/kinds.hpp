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
#include "reference/array.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/scalar.hpp"

/// One function for each kind of piece (layer or function) that a fuzzed model can contain, and
/// functions that several kinds share.
namespace attn_fuzz {

// layers.cpp
Piece linear(Choices& choices, Sizes& sizes);
Piece norm(Choices& choices, const Sizes& sizes);
Piece feed_forward(Choices& choices, const Sizes& sizes);
Piece activation(Choices& choices);
Piece square();
Piece dropout(Choices& choices);
/// Selects some of the tokens or some of the channels.
Piece slice(Choices& choices, Sizes& sizes);

// sequences.cpp
Piece recurrent(Choices& choices, Sizes& sizes);
Piece convolution(Choices& choices, Sizes& sizes);
Piece pooling(Choices& choices, const Sizes& sizes);
/// Bahdanau's decoder, whose input x is the output of the encoder.
Piece decoder(Choices& choices, Sizes& sizes);

// attention.cpp

/// Rotates rows. Requires a width of at least 2.
Piece rotary(Choices& choices, const Sizes& sizes);
/// Self-attention with any combination of terms.
Piece attention(Choices& choices, const Sizes& sizes);

// transformer.cpp
Piece encoder_layer(Choices& choices, const Sizes& sizes);
/// A decoder layer whose memory is x / 2.
Piece decoder_layer(Choices& choices, const Sizes& sizes);

attn::Activation choose_activation(Choices& choices);
attn::RandomStream choose_stream(Choices& choices);
/// Chooses a number of heads that divides `width`.
std::int64_t choose_heads(Choices& choices, std::int64_t width);

/// The factors by which dropout multiplies elements.
reference::Array kept_elements(const std::vector<std::int64_t>& shape, float probability,
                               const attn::RandomStream& random);
/// The factors by which dropout multiplies weights (B, H, Nq, Nk). The random words of row r,
/// counted over all rows, start at block r·⌈Nk/4⌉.
reference::Array kept_weights(const std::vector<std::int64_t>& shape, float probability,
                              const attn::RandomStream& random);

/// The reference's multi-head attention with a module's parameters. If `num_kv_heads` is 0, there
/// are as many key heads as query heads.
reference::MultiHeadAttentionOf<reference::Scalar> exact_heads(const Parameters& parameters,
                                                               std::int64_t num_heads,
                                                               std::int64_t num_kv_heads);

/// Returns the parameter with this name, or an empty array.
Scalars given(const Parameters& parameters, const std::string& name);
/// Returns rows [begin, end) of an array, or an empty array if `x` is empty.
Scalars rows_of(const Scalars& x, std::int64_t begin, std::int64_t end);

/// Makes a piece from a layer that takes and returns a variable.
template <class Layer, class Exact>
Piece piece_of(const char* name, std::shared_ptr<Layer> layer, Exact exact) {
  return {name, layer, [layer](attn::Tape&, const attn::Variable& x) { return layer->forward(x); },
          exact};
}

}  // namespace attn_fuzz
