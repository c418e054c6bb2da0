// Pieces of fuzzed models that process a sequence, except Transformer layers.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/training/pooling.hpp"
#include "pieces/kinds.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/bahdanau_decoder.hpp"
#include "reference/conv1d.hpp"
#include "reference/recurrent.hpp"

namespace attn_fuzz {

using attn::OwnedTensor;
using attn::Variable;
using reference::Scalar;

namespace {

/// Applies `f` to each sequence (N, E) of a batch.
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

}  // namespace

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
  // Pads the input so that it contains at least one window.
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

}  // namespace attn_fuzz
