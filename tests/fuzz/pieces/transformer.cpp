#include "pieces/transformer.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "attn/layers/transformer_decoder.hpp"
#include "attn/training/functions.hpp"
#include "pieces/kinds.hpp"
#include "reference/rotary_embedding.hpp"

namespace attn_fuzz {

using attn::Variable;
using reference::Array;
using reference::Scalar;

namespace {

constexpr float kEps = 1e-3F;

}  // namespace

LayerChoice choose_layer(Choices& choices, std::int64_t width) {
  const attn::Activation f = choose_activation(choices);
  const attn::RmsNormOptions rms{.eps = kEps, .zero_centred_weight = choices.one_in(4)};
  attn::TransformerLayerOptions options{.d_model = width,
                                        .num_heads = choose_heads(choices, width),
                                        .dim_feedforward = choices.size(1, 20),
                                        .activation = f};
  options.gated_feed_forward = choices.one_in(2);
  // In the reference, gated feed-forward networks have no biases.
  options.bias = !options.gated_feed_forward && choices.one_in(2);
  options.attention_bias = choices.one_in(2);
  if (options.attention_bias) options.attention_output_bias = choices.one_in(2);
  if (choices.one_in(2)) {
    options.rms_norm = rms;
  } else {
    options.layer_norm_eps = rms.eps;
  }
  options.norm_first = choices.one_in(2);
  options.norm_outputs = choices.one_in(4);
  if (options.num_heads % 2 == 0 && choices.one_in(2)) options.num_kv_heads = 2;
  if (choices.one_in(4)) options.head_dim = choices.integer(1, 6);
  if (choices.one_in(4)) {
    options.qk_norm = rms;
    options.qk_norm_all_heads = choices.one_in(2);
  }
  if (choices.one_in(4)) options.scale = 0.3F;
  if (choices.one_in(4)) options.softcap = 2;
  if (choices.one_in(4)) options.window = attn::Window{.left = choices.integer(0, 3)};
  options.sinks = choices.one_in(4);
  return {options, rms.zero_centred_weight};
}

attn::Dropout choose_dropout(Choices& choices, attn::TransformerLayerOptions& options) {
  if (!choices.one_in(4)) return {};
  const attn::Dropout dropout{.probability = static_cast<float>(choices.integer(1, 3)) / 4,
                              .training = true,
                              .random = choose_stream(choices)};
  options.feed_forward_dropout = choices.one_in(2);
  return dropout;
}

reference::TransformerLayerOf<Scalar> exact_layer(const LayerChoice& choice,
                                                  const Parameters& parameters) {
  const attn::TransformerLayerOptions& options = choice.options;
  reference::TransformerLayerOf<Scalar> l;
  l.weights = parameters;
  l.num_heads = options.num_heads;
  l.num_kv_heads = options.num_kv_heads.value_or(options.num_heads);
  l.activation = choice.options.activation;
  l.eps = static_cast<double>(kEps);
  l.norm_first = options.norm_first;
  l.parallel = options.parallel_residual;
  l.rms = options.rms_norm.has_value();
  l.norms_add_one = choice.norms_add_one;
  return l;
}

void drop_in_places(reference::TransformerLayerOf<Scalar>& layer,
                    reference::AttentionOf<Scalar>& self, reference::AttentionOf<Scalar>* cross,
                    const LayerChoice& choice, const attn::Dropout& dropout, const Sizes& sizes,
                    std::int64_t memory_length) {
  if (!dropout.training) return;
  attn::RandomStream place = dropout.random;
  const std::vector<std::int64_t> rows{sizes.batch, sizes.length, sizes.width};
  const auto drop_weights = [&](reference::AttentionOf<Scalar>& attention, std::int64_t keys) {
    attention.kept = kept_weights({sizes.batch, choice.options.num_heads, sizes.length, keys},
                                  dropout.probability, place);
    ++place.stream;
    layer.kept_outputs.push_back(kept_elements(rows, dropout.probability, place));
    ++place.stream;
  };
  drop_weights(self, sizes.length);
  if (cross) drop_weights(*cross, memory_length);
  if (choice.options.feed_forward_dropout) {
    layer.kept_hidden = kept_elements({sizes.batch, sizes.length, choice.options.dim_feedforward},
                                      dropout.probability, place);
  }
  ++place.stream;
  layer.kept_outputs.push_back(kept_elements(rows, dropout.probability, place));
}

namespace {

/// An encoder layer, or a decoder layer whose memory is x / 2.
template <class Layer, class Call>
Piece transformer_layer(const char* name, Choices& choices, const Sizes& sizes) {
  constexpr bool kDecodes = std::is_same_v<Layer, attn::TransformerDecoderLayer>;
  LayerChoice choice = choose_layer(choices, sizes.width);
  attn::TransformerLayerOptions& options = choice.options;
  const std::int64_t head = choice.head_dim();
  const bool rotates = head % 2 == 0 && choices.one_in(2);
  if (rotates) options.positions.rotary = attn::RotaryEmbeddingOptions{.base = 100};
  const bool causal = choices.one_in(2);
  const attn::Dropout dropout = choose_dropout(choices, options);
  if constexpr (!kDecodes) options.parallel_residual = options.norm_first && choices.one_in(4);
  const auto layer = std::make_shared<Layer>(options);
  const auto record = [layer, causal, dropout](attn::Tape&, const Variable& x) {
    Call call;
    call.dropout = dropout;
    if constexpr (kDecodes) {
      call.self_attention.causal = causal;
      return layer->forward(x, x * 0.5F, call);
    } else {
      call.attention.causal = causal;
      return layer->forward(x, call);
    }
  };
  const auto exact = [=](const Scalars& x, const Parameters& p) {
    reference::TransformerLayerOf<Scalar> l = exact_layer(choice, p);
    if (rotates) l.rotary_frequencies = reference::rotary_frequencies({.dim = head, .base = 100});
    const attn::TransformerLayerOptions& o = choice.options;
    reference::AttentionOf<Scalar> self, cross;
    if (o.scale) self.scale = static_cast<double>(*o.scale);
    self.softcap = static_cast<double>(o.softcap);
    cross.scale = self.scale;
    cross.softcap = self.softcap;
    if (causal) self.causal_offset = Array({1}, 0);
    if (o.window) {
      self.window_left = o.window->left;
      self.window_offset = Array({1}, 0);
    }
    if (o.sinks) self.sinks = p.at("self_attn.sinks");
    drop_in_places(l, self, kDecodes ? &cross : nullptr, choice, dropout, sizes, sizes.length);
    if constexpr (kDecodes) {
      Scalars memory = x;
      for (Scalar& value : memory.values) value = value * Scalar(0.5);
      return reference::decoder_layer<Scalar>(l, x, memory, self, cross);
    } else {
      return reference::encoder_layer<Scalar>(l, x, self);
    }
  };
  return {name, layer, record, exact};
}

}  // namespace

Piece encoder_layer(Choices& choices, const Sizes& sizes) {
  return transformer_layer<attn::TransformerEncoderLayer, attn::TransformerEncoderLayerCall>(
      "TransformerEncoderLayer", choices, sizes);
}

Piece decoder_layer(Choices& choices, const Sizes& sizes) {
  return transformer_layer<attn::TransformerDecoderLayer, attn::TransformerDecoderLayerCall>(
      "TransformerDecoderLayer", choices, sizes);
}

}  // namespace attn_fuzz
