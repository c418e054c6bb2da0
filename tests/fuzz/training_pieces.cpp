#include "training_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/layers/activation.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/random.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/pooling.hpp"
#include "attn/training/tape.hpp"
#include "choices.hpp"
#include "reference/activation.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/bahdanau_decoder.hpp"
#include "reference/conv1d.hpp"
#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/recurrent.hpp"
#include "reference/rms_norm.hpp"
#include "reference/rotary_embedding.hpp"
#include "reference/scalar.hpp"
#include "reference/transformer.hpp"

namespace attn_fuzz {

Scalars reshaped(Scalars x, std::vector<std::int64_t> shape) {
  x.shape = std::move(shape);
  return x;
}

namespace {

using attn::OwnedTensor;
using attn::Variable;
using reference::Array;
using reference::Scalar;

Scalars given(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? Scalars() : found->second;
}

/// Rows [begin, end) of an array, or nothing of nothing.
Scalars rows_of(const Scalars& x, std::int64_t begin, std::int64_t end) {
  if (!x.given()) return {};
  std::vector<std::int64_t> shape = x.shape;
  const auto row = static_cast<std::int64_t>(x.values.size()) / shape[0];
  shape[0] = end - begin;
  return Scalars(shape,
                 std::vector<Scalar>(x.values.begin() + begin * row, x.values.begin() + end * row));
}

/// What `f` makes of each sequence (N, E) of a batch.
template <class F>
Scalars each_sequence(const Scalars& x, F&& f) {
  Scalars all;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    const Scalars one = f(reshaped(rows_of(x, b, b + 1), {x.size(1), x.size(2)}));
    if (b == 0) all.shape = {x.size(0), one.size(0), one.size(1)};
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
  }
  return all;
}

/// A piece of a layer that takes and gives a variable.
template <class Layer, class Exact>
Piece piece_of(const char* name, std::shared_ptr<Layer> layer, Exact exact) {
  return {name, layer, [layer](attn::Tape&, const Variable& x) { return layer->forward(x); },
          exact};
}

Piece linear(Choices& choices, Sizes& sizes) {
  const std::int64_t out = choices.size(1, 40);
  auto layer = std::make_shared<attn::Linear>(sizes.width, out, choices.one_in(2));
  sizes.width = out;
  return piece_of("Linear", layer, [](const Scalars& x, const Parameters& p) {
    return reference::linear<Scalar>({x, {}}, p.at("weight"), given(p, "bias")).exact;
  });
}

Piece norm(Choices& choices, const Sizes& sizes) {
  const bool affine = choices.one_in(2);
  if (choices.one_in(2)) {
    auto layer = std::make_shared<attn::RmsNorm>(
        sizes.width, attn::RmsNormOptions{.eps = 1e-3F, .elementwise_affine = affine});
    return piece_of("RmsNorm", layer, [](const Scalars& x, const Parameters& p) {
      return reference::rms_norm(x, given(p, "weight"), static_cast<double>(1e-3F));
    });
  }
  auto layer = std::make_shared<attn::LayerNorm>(
      sizes.width, attn::LayerNormOptions{.eps = 1e-3F, .elementwise_affine = affine});
  return piece_of("LayerNorm", layer, [](const Scalars& x, const Parameters& p) {
    return reference::layer_norm(x, given(p, "weight"), given(p, "bias"),
                                 static_cast<double>(1e-3F));
  });
}

struct ActivationPair {
  attn::Activation recorded;
  reference::Activation exact;
};

ActivationPair choose_activation(Choices& choices) {
  switch (choices.integer(0, 3)) {
    case 0:
      return {attn::Activation::kRelu, reference::Activation::kRelu};
    case 1:
      return {attn::Activation::kGelu, reference::Activation::kGelu};
    case 2:
      return {attn::Activation::kGeluTanh, reference::Activation::kGeluTanh};
    default:
      return {attn::Activation::kSilu, reference::Activation::kSilu};
  }
}

Piece feed_forward(Choices& choices, const Sizes& sizes) {
  const ActivationPair f = choose_activation(choices);
  const std::int64_t hidden = choices.size(1, 40);
  if (choices.one_in(2)) {
    auto layer = std::make_shared<attn::GatedFeedForward>(attn::GatedFeedForwardOptions{
        .d_model = sizes.width, .dim_feedforward = hidden, .activation = f.recorded});
    return piece_of("GatedFeedForward", layer, [f](const Scalars& x, const Parameters& p) {
      return reference::gated_feed_forward<Scalar>(
          {f.exact, p.at("gate_proj.weight"), p.at("up_proj.weight"), p.at("down_proj.weight")}, x);
    });
  }
  auto layer =
      std::make_shared<attn::FeedForward>(attn::FeedForwardOptions{.d_model = sizes.width,
                                                                   .dim_feedforward = hidden,
                                                                   .activation = f.recorded,
                                                                   .bias = choices.one_in(2)});
  return piece_of("FeedForward", layer, [f](const Scalars& x, const Parameters& p) {
    return reference::feed_forward<Scalar>(
        {f.exact, p.at("linear1.weight"), given(p, "linear1.bias"), p.at("linear2.weight"),
         given(p, "linear2.bias")},
        x);
  });
}

Piece activation(Choices& choices) {
  const ActivationPair f = choose_activation(choices);
  return {"apply_activation", nullptr,
          [f](attn::Tape&, const Variable& x) { return attn::apply_activation(x, f.recorded); },
          [f](Scalars x, const Parameters&) {
            for (Scalar& value : x.values) value = reference::activate(f.exact, value);
            return x;
          }};
}

Piece square() {
  return {"operator*", nullptr, [](attn::Tape&, const Variable& x) { return x * (0.5F * x); },
          [](Scalars x, const Parameters&) {
            for (Scalar& value : x.values) value = value * (Scalar(0.5) * value);
            return x;
          }};
}

Piece recurrent(Choices& choices, Sizes& sizes) {
  const attn::RecurrentOptions options{.input_size = sizes.width,
                                       .hidden_size = choices.size(1, 20),
                                       .num_layers = choices.integer(1, 2),
                                       .bias = choices.one_in(2)};
  sizes.width = options.hidden_size;
  const auto exact = [options](reference::Cell cell) {
    return [options, cell](const Scalars& x, const Parameters& p) {
      std::vector<reference::RecurrentLayerOf<Scalar>> layers;
      for (std::int64_t l = 0; l < options.num_layers; ++l) {
        const std::string suffix = "_l" + std::to_string(l);
        layers.push_back({p.at("weight_ih" + suffix), p.at("weight_hh" + suffix),
                          given(p, "bias_ih" + suffix), given(p, "bias_hh" + suffix)});
      }
      return each_sequence(x, [&](const Scalars& sequence) {
        return reference::recurrent<Scalar>(cell, layers, sequence).output.exact;
      });
    };
  };
  switch (choices.integer(0, 2)) {
    case 0:
      return piece_of("GRU", std::make_shared<attn::GRU>(options), exact(reference::Cell::kGru));
    case 1:
      return piece_of("RNN", std::make_shared<attn::RNN>(options), exact(reference::Cell::kTanh));
    default:
      return piece_of("RNN with relu",
                      std::make_shared<attn::RNN>(options, attn::RecurrentActivation::kRelu),
                      exact(reference::Cell::kRelu));
  }
}

Piece convolution(Choices& choices, Sizes& sizes) {
  attn::Conv1dOptions o{.in_channels = sizes.width,
                        .out_channels = choices.size(1, 20),
                        .kernel_size = choices.integer(1, 4),
                        .stride = choices.integer(1, 3),
                        .padding = choices.integer(0, 4),
                        .dilation = choices.integer(1, 3),
                        .bias = choices.one_in(2)};
  const std::int64_t reach = o.dilation * (o.kernel_size - 1);
  // At least one window.
  if (sizes.length + 2 * o.padding <= reach) o.padding = reach;
  auto layer = std::make_shared<attn::Conv1d>(o);
  sizes.length = layer->output_length(sizes.length);
  sizes.width = o.out_channels;
  return piece_of("Conv1d", layer, [o](const Scalars& x, const Parameters& p) {
    return each_sequence(x, [&](const Scalars& sequence) {
      return reference::conv1d<Scalar>(sequence, p.at("weight"), given(p, "bias"), o.stride,
                                       o.padding, o.padding, o.dilation)
          .exact;
    });
  });
}

Piece pooling(Choices& choices, const Sizes& sizes) {
  const std::int64_t keys = choices.integer(1, sizes.length);
  const auto lens = std::make_shared<std::vector<std::int32_t>>(
      static_cast<std::size_t>(sizes.batch), static_cast<std::int32_t>(keys));
  attn::AttentionPoolingOptions options;
  options.valid_lens = {lens->data(), {sizes.batch}};
  const auto exact = [keys](reference::PoolingScore score, float parameter) {
    return [keys, score, parameter](const Scalars& x, const Parameters& p) {
      return each_sequence(x, [&](const Scalars& sequence) {
        reference::PoolingOf<Scalar> pooling;
        pooling.score = score;
        pooling.parameter = static_cast<double>(parameter);
        pooling.query = pooling.key = pooling.value = sequence;
        pooling.query_weight = given(p, "W_q.weight");
        pooling.key_weight = given(p, "W_k.weight");
        pooling.score_weight = given(p, "w_v.weight");
        pooling.attends = [keys](std::int64_t, std::int64_t j) { return j < keys; };
        return reference::attention_pooling(pooling).output.exact;
      });
    };
  };
  if (choices.one_in(2)) {
    auto layer =
        std::make_shared<attn::AdditiveAttention>(sizes.width, sizes.width, choices.size(1, 20));
    return {"AdditiveAttention", layer,
            [layer, options, lens](attn::Tape&, const Variable& x) {
              return layer->forward(x, x, x, options);
            },
            exact(reference::PoolingScore::kAdditive, 1)};
  }
  const auto function = [&](const char* name, const attn::ScoringFunction& scoring,
                            reference::PoolingScore score, float parameter) -> Piece {
    return {name, nullptr,
            [scoring, options, lens](attn::Tape&, const Variable& x) {
              return attn::attention_pooling(x, x, x, scoring, options);
            },
            exact(score, parameter)};
  };
  const float parameter = static_cast<float>(choices.integer(1, 8)) * 0.25F;
  switch (choices.integer(0, 2)) {
    case 0:
      return function("scaled_dot", attn::ScoringFunction::scaled_dot(parameter),
                      reference::PoolingScore::kScaledDot, parameter);
    case 1:
      return function("gaussian", attn::ScoringFunction::gaussian(parameter),
                      reference::PoolingScore::kGaussian, parameter);
    default:
      return function("average", attn::ScoringFunction::average(),
                      reference::PoolingScore::kAverage, 1);
  }
}

/// A divisor of a width.
std::int64_t choose_heads(Choices& choices, std::int64_t width) {
  std::int64_t chosen = 1;
  for (const std::int64_t heads : {2, 3, 4}) {
    if (width % heads == 0 && choices.one_in(2)) chosen = heads;
  }
  return chosen;
}

/// (B, N, H·D) as (B, H, N, D), or back.
Scalars with_heads(const Scalars& x, std::int64_t heads, bool apart) {
  const std::int64_t batch = x.size(0), length = x.size(apart ? 1 : 2);
  const std::int64_t width = apart ? x.size(2) / heads : x.size(3);
  Scalars result =
      apart ? Scalars({batch, heads, length, width}) : Scalars({batch, length, heads * width});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t d = 0; d < width; ++d) {
          if (apart) {
            result.at({b, h, i, d}) = x.at({b, i, h * width + d});
          } else {
            result.at({b, i, h * width + d}) = x.at({b, h, i, d});
          }
        }
      }
    }
  }
  return result;
}

/// Needs a width of 2 or more.
Piece rotary(Choices& choices, const Sizes& sizes) {
  std::int64_t heads = choose_heads(choices, sizes.width);
  if (sizes.width / heads < 2) heads = 1;
  attn::RotaryEmbeddingOptions options;
  options.rotary_dim = 2 * choices.integer(1, sizes.width / heads / 2);
  if (choices.one_in(2)) options.pairing = attn::RotaryPairing::kInterleaved;
  options.base = choices.one_in(2) ? 10000 : 3;
  reference::RotaryEmbeddingOf<Scalar> exact;
  exact.frequencies =
      reference::rotary_frequencies({.dim = options.rotary_dim, .base = options.base});
  if (choices.one_in(4)) {
    options.scaling = attn::ProportionalRotaryScaling{.partial_rotary_factor = 0.5, .factor = 2};
    for (std::size_t j = 0; j < exact.frequencies.size(); ++j) {
      exact.frequencies[j] *= j < exact.frequencies.size() / 2 ? 0.5L : 0;
    }
  }
  attn::RotaryPositions positions;
  positions.start = static_cast<double>(choices.integer(-20, 1000));
  positions.inverse = choices.one_in(4);
  exact.interleaved = options.pairing == attn::RotaryPairing::kInterleaved;
  exact.inverse = positions.inverse;
  const auto layer = std::make_shared<attn::RotaryEmbedding>(options);
  return {"RotaryEmbedding", nullptr,
          [=](attn::Tape&, const Variable& x) { return layer->forward(x, positions, heads); },
          [=](const Scalars& x, const Parameters&) {
            reference::RotaryEmbeddingOf<Scalar> call = exact;
            call.x = with_heads(x, heads, true);
            for (std::int64_t i = 0; i < x.size(1); ++i) {
              call.positions.push_back(positions.start + static_cast<double>(i));
            }
            return with_heads(reference::rotary_embedding(call).exact, heads, false);
          }};
}

attn::RandomStream choose_stream(Choices& choices) {
  return {.seed = choices.bits<std::uint16_t>(), .stream = choices.bits<std::uint8_t>()};
}

/// What dropout multiplies elements by.
Array kept_elements(const std::vector<std::int64_t>& shape, float probability,
                    const attn::RandomStream& random) {
  Array kept(shape);
  const auto p = static_cast<double>(probability);
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    const bool dropped = (random.words(i / 4)[i % 4] >> 8) * 0x1p-24 < p;
    kept.values[i] = dropped ? 0 : 1 / (1 - p);
  }
  return kept;
}

Piece dropout(Choices& choices) {
  const attn::Dropout d{.probability = static_cast<float>(choices.integer(0, 7)) / 8,
                        .training = true,
                        .random = choose_stream(choices)};
  return {"apply_dropout", nullptr,
          [d](attn::Tape&, const Variable& x) { return attn::apply_dropout(x, d); },
          [d](Scalars x, const Parameters&) {
            reference::drop(x, kept_elements(x.shape, d.probability, d.random));
            return x;
          }};
}

/// What dropout multiplies weights (B, H, Nq, Nk) by: row r of all rows takes its words from block
/// r·⌈Nk/4⌉ on.
Array kept_weights(const std::vector<std::int64_t>& shape, float probability,
                   const attn::RandomStream& random) {
  Array kept(shape);
  const std::int64_t keys = shape.back(), blocks = (keys + 3) / 4;
  const auto p = static_cast<double>(probability);
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / keys;
    const std::int64_t key = static_cast<std::int64_t>(i) % keys;
    const auto words = random.words(static_cast<std::uint64_t>(row * blocks + key / 4));
    const bool dropped = words[static_cast<std::size_t>(key % 4)] * 0x1p-32 < p;
    kept.values[i] = dropped ? 0 : 1 / (1 - p);
  }
  return kept;
}

/// A layer of an encoder, or of a decoder whose memory is x / 2.
template <class Layer, class Call>
Piece transformer_layer(const char* name, Choices& choices, const Sizes& sizes) {
  constexpr bool kDecodes = std::is_same_v<Layer, attn::TransformerDecoderLayer>;
  const ActivationPair f = choose_activation(choices);
  const attn::RmsNormOptions rms{.eps = 1e-3F, .zero_centred_weight = choices.one_in(4)};
  attn::TransformerLayerOptions options{.d_model = sizes.width,
                                        .num_heads = choose_heads(choices, sizes.width),
                                        .dim_feedforward = choices.size(1, 20),
                                        .activation = f.recorded};
  options.gated_feed_forward = choices.one_in(2);
  // The reference's gated networks have no biases.
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
  const std::int64_t head = options.head_dim.value_or(sizes.width / options.num_heads);
  const bool rotates = head % 2 == 0 && choices.one_in(2);
  if (rotates) options.positions.rotary = attn::RotaryEmbeddingOptions{.base = 100};
  const bool causal = choices.one_in(2);
  attn::Dropout dropout;
  if (choices.one_in(4)) {
    dropout = {.probability = static_cast<float>(choices.integer(1, 3)) / 4,
               .training = true,
               .random = choose_stream(choices)};
    options.feed_forward_dropout = choices.one_in(2);
  }
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
    reference::TransformerLayerOf<Scalar> l;
    l.weights = p;
    l.num_heads = options.num_heads;
    l.num_kv_heads = options.num_kv_heads.value_or(options.num_heads);
    l.activation = f.exact;
    l.eps = static_cast<double>(rms.eps);
    l.norm_first = options.norm_first;
    l.rms = options.rms_norm.has_value();
    l.norms_add_one = rms.zero_centred_weight;
    if (rotates) l.rotary_frequencies = reference::rotary_frequencies({.dim = head, .base = 100});
    reference::AttentionOf<Scalar> self, cross;
    if (options.scale) self.scale = static_cast<double>(*options.scale);
    self.softcap = static_cast<double>(options.softcap);
    cross.scale = self.scale;
    cross.softcap = self.softcap;
    if (causal) self.causal_offset = Array({1}, 0);
    if (options.window) {
      self.window_left = options.window->left;
      self.window_offset = Array({1}, 0);
    }
    if (options.sinks) self.sinks = p.at("self_attn.sinks");
    if (dropout.training) {
      // Each of the layer's places has a stream, in the order of the layer.
      attn::RandomStream place = dropout.random;
      const std::int64_t batch = x.size(0), length = x.size(1);
      const auto drop_weights = [&](reference::AttentionOf<Scalar>& attention) {
        const std::vector<std::int64_t> shape{batch, options.num_heads, length, length};
        attention.kept = kept_weights(shape, dropout.probability, place);
        ++place.stream;
        l.kept_outputs.push_back(kept_elements(x.shape, dropout.probability, place));
        ++place.stream;
      };
      drop_weights(self);
      if (kDecodes) drop_weights(cross);
      if (options.feed_forward_dropout) {
        l.kept_hidden =
            kept_elements({batch, length, options.dim_feedforward}, dropout.probability, place);
      }
      ++place.stream;
      l.kept_outputs.push_back(kept_elements(x.shape, dropout.probability, place));
    }
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

/// Self-attention with any of its terms.
Piece attention(Choices& choices, const Sizes& sizes) {
  attn::MultiHeadAttentionOptions options{.d_model = sizes.width,
                                          .num_heads = choose_heads(choices, sizes.width)};
  if (options.num_heads % 2 == 0 && choices.one_in(2)) options.num_kv_heads = 2;
  options.bias = choices.one_in(2);
  options.sinks = choices.one_in(4);
  options.positions.alibi = choices.one_in(4);
  if (choices.one_in(4)) options.positions.max_relative_distance = choices.integer(0, 3);
  if (choices.one_in(4)) {
    options.positions.t5_bias = attn::T5BiasOptions{
        .num_buckets = 4, .max_distance = 8, .bidirectional = choices.one_in(2)};
  }
  attn::AttentionOptions call;
  reference::AttentionRules rules;
  const std::int64_t offset = choices.integer(-2, 4);
  call.diagonal = attn::Diagonal::offset(offset);
  const auto diagonal = static_cast<double>(offset);
  rules.relative_offset = Array({1}, diagonal);
  if (choices.one_in(2)) {
    call.causal = true;
    rules.causal_offset = Array({1}, diagonal);
  }
  if (choices.one_in(4)) {
    call.window = attn::Window{.left = choices.integer(0, 5), .right = choices.integer(0, 5)};
    rules.window_left = call.window->left;
    rules.window_right = call.window->right;
    rules.window_offset = Array({1}, diagonal);
  }
  if (choices.one_in(4)) {
    call.softcap = 2;
    rules.softcap = 2;
  }
  const auto lens = std::make_shared<std::vector<std::int32_t>>();
  if (choices.one_in(2)) {
    rules.valid_lens = Array({sizes.batch});
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      lens->push_back(static_cast<std::int32_t>(choices.integer(0, sizes.length)));
      rules.valid_lens.at({b}) = lens->back();
    }
    call.valid_lens = {lens->data(), {sizes.batch}};
  }
  if (choices.one_in(4)) {
    call.dropout = static_cast<float>(choices.integer(1, 6)) / 8;
    call.dropout_random = choose_stream(choices);
    rules.kept = kept_weights({sizes.batch, options.num_heads, sizes.length, sizes.length},
                              call.dropout, call.dropout_random);
  }
  if (options.positions.t5_bias) {
    rules.t5_bidirectional = options.positions.t5_bias->bidirectional;
    rules.t5_max_distance = 8;
  }
  auto layer = std::make_shared<attn::MultiHeadAttention>(options);
  const auto exact = [options, rules](const Scalars& x, const Parameters& p) {
    const std::int64_t e = options.d_model, heads = options.num_heads;
    const std::int64_t kv_heads = options.num_kv_heads.value_or(heads), kv = e / heads * kv_heads;
    reference::MultiHeadAttentionOf<Scalar> m;
    m.num_heads = heads;
    m.num_kv_heads = kv_heads;
    const Scalars joined = given(p, "in_proj_weight");
    m.query_weight = joined.given() ? rows_of(joined, 0, e) : p.at("q_proj_weight");
    m.key_weight = joined.given() ? rows_of(joined, e, 2 * e) : p.at("k_proj_weight");
    m.value_weight = joined.given() ? rows_of(joined, 2 * e, 3 * e) : p.at("v_proj_weight");
    m.output_weight = p.at("out_proj.weight");
    const Scalars bias = given(p, "in_proj_bias");
    m.query_bias = rows_of(bias, 0, e);
    m.key_bias = rows_of(bias, e, e + kv);
    m.value_bias = rows_of(bias, e + kv, e + 2 * kv);
    m.output_bias = given(p, "out_proj.bias");
    reference::AttentionOf<Scalar> attention;
    static_cast<reference::AttentionRules&>(attention) = rules;
    attention.sinks = given(p, "sinks");
    attention.t5_table = given(p, "relative_attention_bias.weight");
    if (options.positions.alibi) {
      std::vector<float> slopes(static_cast<std::size_t>(heads));
      attn::alibi_slopes(slopes);
      attention.alibi_slopes = Scalars({heads}, slopes);
    }
    if (options.positions.max_relative_distance) {
      const std::vector<std::int64_t> shape{1, 2 * *options.positions.max_relative_distance + 1,
                                            e / heads};
      attention.relative_keys = reshaped(p.at("relative_keys"), shape);
      attention.relative_values = reshaped(p.at("relative_values"), shape);
    }
    return reference::multi_head_attention<Scalar>(m, x, x, x, attention).output.exact;
  };
  return {
      "MultiHeadAttention", layer,
      [layer, call, lens](attn::Tape&, const Variable& x) { return layer->forward(x, x, x, call); },
      exact};
}

/// Bahdanau's decoder, which is given x for the encoder's outputs.
Piece decoder(Choices& choices, Sizes& sizes) {
  const attn::BahdanauDecoderOptions options{.vocab_size = choices.size(1, 20),
                                             .embed_size = choices.size(1, 10),
                                             .num_hiddens = choices.size(1, 10),
                                             .num_layers = choices.integer(1, 2),
                                             .encoder_dim = sizes.width};
  const std::int64_t batch = sizes.batch, steps = choices.integer(1, 4);
  const auto lens = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t b = 0; b < batch; ++b) {
    lens->push_back(static_cast<std::int32_t>(choices.integer(0, sizes.length)));
  }
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < batch * steps; ++i) {
    tokens.push_back(choices.integer(0, options.vocab_size - 1));
  }
  sizes.length = steps;
  sizes.width = options.vocab_size;
  auto layer = std::make_shared<attn::BahdanauDecoder>(options);
  return {"BahdanauDecoder", layer,
          [=](attn::Tape& tape, const Variable& x) {
            const Variable hidden =
                tape.constant(OwnedTensor({options.num_layers, batch, options.num_hiddens}));
            return layer->forward(tape, {tokens.data(), {batch, steps}}, x, hidden,
                                  {lens->data(), {batch}});
          },
          [=](const Scalars& x, const Parameters& p) {
            std::size_t b = 0;
            return each_sequence(x, [&](const Scalars& outputs) {
              reference::BahdanauDecoderOf<Scalar> d;
              d.weights = p;
              d.num_layers = options.num_layers;
              d.encoder_outputs = outputs;
              d.encoder_len = (*lens)[b];
              d.hidden = Scalars({options.num_layers, options.num_hiddens});
              const auto begin = tokens.begin() + static_cast<std::int64_t>(b) * steps;
              d.tokens.assign(begin, begin + steps);
              ++b;
              return reference::bahdanau_decoder(d).logits;
            });
          }};
}

/// Some tokens, or some channels.
Piece slice(Choices& choices, Sizes& sizes) {
  const bool tokens = choices.one_in(2);
  std::int64_t& size = tokens ? sizes.length : sizes.width;
  const std::int64_t begin = choices.integer(0, size - 1), end = choices.integer(begin + 1, size);
  size = end - begin;
  return {
      "slice", nullptr,
      [=](attn::Tape&, const Variable& x) { return attn::slice(x, tokens ? 1 : 2, begin, end); },
      [=](const Scalars& x, const Parameters&) {
        Scalars y({x.size(0), tokens ? end - begin : x.size(1), tokens ? x.size(2) : end - begin});
        for (std::int64_t b = 0; b < y.size(0); ++b) {
          for (std::int64_t t = 0; t < y.size(1); ++t) {
            for (std::int64_t c = 0; c < y.size(2); ++c) {
              y.at({b, t, c}) = tokens ? x.at({b, begin + t, c}) : x.at({b, t, begin + c});
            }
          }
        }
        return y;
      }};
}

/// x + f(x), or both behind one another, where their shapes are the same.
Piece with_residual(Choices& choices, const Piece& inner, Sizes& sizes) {
  if (choices.one_in(2)) {
    return {inner.name + " + x", inner.module,
            [f = inner.record](attn::Tape& tape, const Variable& x) { return x + f(tape, x); },
            [f = inner.exact](const Scalars& x, const Parameters& p) {
              Scalars y = f(x, p);
              for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += x.values[i];
              return y;
            }};
  }
  sizes.length *= 2;
  return {"x and " + inner.name, inner.module,
          [f = inner.record](attn::Tape& tape, const Variable& x) {
            return attn::concatenate({x, f(tape, x)}, 1);
          },
          [f = inner.exact](const Scalars& x, const Parameters& p) {
            const Scalars y = f(x, p);
            Scalars all;
            all.shape = {x.size(0), 2 * x.size(1), x.size(2)};
            const std::int64_t count = x.size(1) * x.size(2);
            for (std::int64_t b = 0; b < x.size(0); ++b) {
              for (const Scalars* part : {&x, &y}) {
                all.values.insert(all.values.end(), part->values.begin() + b * count,
                                  part->values.begin() + (b + 1) * count);
              }
            }
            return all;
          }};
}

}  // namespace

Piece choose_piece(Choices& choices, Sizes& sizes) {
  const Sizes before = sizes;
  const auto chosen = [&] {
    switch (choices.integer(0, 14)) {
      case 0:
        return linear(choices, sizes);
      case 1:
        return norm(choices, sizes);
      case 2:
        return feed_forward(choices, sizes);
      case 3:
        return activation(choices);
      case 4:
        return square();
      case 5:
        return recurrent(choices, sizes);
      case 6:
        return convolution(choices, sizes);
      case 7:
        return pooling(choices, sizes);
      case 8:
        return decoder(choices, sizes);
      case 9:
        return slice(choices, sizes);
      case 10:
        return sizes.width > 1 ? rotary(choices, sizes) : norm(choices, sizes);
      case 11:
        return dropout(choices);
      case 12:
        return transformer_layer<attn::TransformerEncoderLayer, attn::TransformerEncoderLayerCall>(
            "TransformerEncoderLayer", choices, sizes);
      case 13:
        return transformer_layer<attn::TransformerDecoderLayer, attn::TransformerDecoderLayerCall>(
            "TransformerDecoderLayer", choices, sizes);
      default:
        return attention(choices, sizes);
    }
  };
  Piece piece = chosen();
  const bool same = sizes.length == before.length && sizes.width == before.width;
  if (!same || sizes.length > 30 || !choices.one_in(3)) return piece;
  return with_residual(choices, piece, sizes);
}

}  // namespace attn_fuzz
