// The tape itself: what is recorded, what is refused, and sums of gradients.

#include "attn/training/tape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "attn/layers/conv1d.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/training/attention.hpp"
#include "compare.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::values;
using testing::ElementsAre;

TEST(TapeTest, WhatIsUsedTwiceGetsTheSumOfBothGradients) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({1, 2}, {3, 4}));
  const Variable y = x + x;
  EXPECT_THAT(values(y.value()), ElementsAre(6, 8));
  tape.backward(y, OwnedTensor({1, 2}, {1, 10}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(2, 20));
}

TEST(TapeTest, LinearHasTheGradientsOfInputWeightAndBias) {
  attn::Linear linear(2, 3);
  linear.set_parameter("weight", OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  linear.set_parameter("bias", OwnedTensor({3}, {7, 8, 9}));
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({2, 2}, {1, -1, 2, 0.5F}));
  const Variable y = linear.forward(x);
  EXPECT_THAT(values(y.value()), ElementsAre(6, 7, 8, 10, 16, 22));
  tape.backward(y, OwnedTensor({2, 3}, {1, 0, 2, 0, 3, -1}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(11, 14, 4, 6));
  EXPECT_THAT(values(tape.gradient(linear, "weight")), ElementsAre(1, -1, 6, 1.5F, 0, -2.5F));
  EXPECT_THAT(values(tape.gradient(linear, "bias")), ElementsAre(1, 3, 1));
}

/// The gradients of x where a layer lives until backward(), and where it is gone before.
template <class Make, class Forward>
void compare_gone_layer(const char* name, std::vector<std::int64_t> shape, Make make,
                        Forward forward) {
  SCOPED_TRACE(name);
  std::vector<float> found[2];
  for (const bool gone : {false, true}) {
    auto layer = std::make_unique<decltype(make())>(make());
    layer->initialize_xavier(7);
    attn::Tape tape;
    OwnedTensor inputs(shape);
    for (std::size_t i = 0; i < inputs.values().size(); ++i) {
      inputs.values()[i] = 0.01F * static_cast<float>(i * 37 % 101) - 0.5F;
    }
    const Variable x = tape.variable(inputs);
    const Variable y = forward(*layer, x);
    if (gone) {
      *layer = make();  // other parameters, perhaps where the first ones were
      layer->initialize_xavier(8);
      layer.reset();
      OwnedTensor dirty({4096});
      std::ranges::fill(dirty.values(), 42.0F);
    }
    OwnedTensor ones(y.shape());
    std::ranges::fill(ones.values(), 1.0F);
    tape.backward(y, ones);
    found[gone ? 1 : 0] = values(x.gradient());
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(TapeTest, ALayerMayBeGoneBeforeBackward) {
  const auto call = [](const auto& layer, const Variable& x) { return layer.forward(x); };
  compare_gone_layer("Linear", {3, 4}, [] { return attn::Linear(4, 5); }, call);
  compare_gone_layer("LayerNorm", {3, 4}, [] { return attn::LayerNorm(4); }, call);
  compare_gone_layer(
      "Conv1d", {3, 4}, [] { return attn::Conv1d({.in_channels = 4, .out_channels = 3}); }, call);
  const auto states = [](const auto& layer, const Variable& x) { return layer.forward(x, {}); };
  const attn::RecurrentOptions recurrent{.input_size = 4, .hidden_size = 3, .num_layers = 2};
  compare_gone_layer("GRU", {3, 4}, [&] { return attn::GRU(recurrent); }, states);
  compare_gone_layer("RNN", {3, 4}, [&] { return attn::RNN(recurrent); }, states);
  compare_gone_layer(
      "LearnedPositionalEncoding", {3, 4}, [] { return attn::LearnedPositionalEncoding(5, 4); },
      call);
  attn::TransformerLayerOptions options{.d_model = 8, .num_heads = 2, .dim_feedforward = 6};
  options.positions.rotary = attn::RotaryEmbeddingOptions{};
  options.qk_norm = attn::RmsNormOptions{};
  const auto encoder = [&] {
    return attn::TransformerEncoder({.layer = options, .num_layers = 2});
  };
  compare_gone_layer("TransformerEncoder", {3, 8}, encoder, states);
  options.positions = {.max_relative_distance = 2};
  options.qk_norm.reset();
  options.gated_feed_forward = true;
  compare_gone_layer("with Shaw's positions", {3, 8}, encoder, states);
  const auto decoder = [&] {
    return attn::TransformerDecoder({.layer = options, .num_layers = 1});
  };
  compare_gone_layer("TransformerDecoder", {3, 8}, decoder,
                     [](const auto& layer, const Variable& x) { return layer.forward(x, x, {}); });
}

TEST(TapeTest, WhatIsOnlyShownHasNoWayBack) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({3, 4}, std::vector<float>(12, 0.5F)));
  Variable weights;
  const Variable y = attn::scaled_dot_product_attention(x, x, x, {}, {}, {.weights = &weights});
  EXPECT_THAT(attn_test::error_of([&] { tape.backward(weights, OwnedTensor(weights.shape())); }),
              testing::HasSubstr("a variable that is only shown"));
  tape.backward(y, OwnedTensor({3, 4}, std::vector<float>(12, 1.0F)));
}

}  // namespace
