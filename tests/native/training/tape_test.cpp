// Tests the tape itself: recording, errors, and sums of gradients.

#include "attn/training/tape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "compare.hpp"
#include "random.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::values;
using testing::ElementsAre;

TEST(TapeTest, AVariableUsedTwiceGetsTheSumOfBothGradients) {
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

/// Tokens in batches of two sizes, and a layer that classifies them.
class AccumulationTest : public testing::Test {
 protected:
  static constexpr std::int64_t kWidth = 5, kClasses = 7, kTokens = 112;

  AccumulationTest() {
    for (std::int64_t i = 0; i < kTokens; ++i) targets_.push_back(i * 5 % kClasses);
    layer_.initialize_xavier(7);
  }

  /// The sum of the losses of tokens [begin, end).
  Variable loss(attn::Tape& tape, std::int64_t begin, std::int64_t end) {
    const Variable logits = layer_.forward(tape.constant(x_.view().slice(0, begin, end)));
    return attn::cross_entropy(logits,
                               std::span(targets_).subspan(static_cast<std::size_t>(begin),
                                                           static_cast<std::size_t>(end - begin)),
                               {.reduction = attn::LossReduction::kSum});
  }

  /// The gradient of the weights for all tokens, in double precision.
  std::vector<double> exact_gradient() const {
    std::vector<double> gradient(kClasses * kWidth);
    const attn::ConstTensor weight = layer_.parameter("weight"), bias = layer_.parameter("bias");
    for (std::int64_t t = 0; t < kTokens; ++t) {
      double probabilities[kClasses], sum = 0;
      for (std::int64_t c = 0; c < kClasses; ++c) {
        double logit = bias(c);
        for (std::int64_t i = 0; i < kWidth; ++i) logit += 1.0 * weight(c, i) * x_(t, i);
        sum += probabilities[c] = std::exp(logit);
      }
      for (std::int64_t c = 0; c < kClasses; ++c) {
        const double d = probabilities[c] / sum - (targets_[static_cast<std::size_t>(t)] == c);
        for (std::int64_t i = 0; i < kWidth; ++i) {
          gradient[static_cast<std::size_t>(c * kWidth + i)] += d * x_(t, i);
        }
      }
    }
    return gradient;
  }

  void expect_exact(const attn::ConstTensor& gradient) const {
    const std::vector<double> want = exact_gradient();
    const std::vector<float> got = values(gradient);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << i;
  }

  OwnedTensor x_{{kTokens, kWidth}, attn_test::Random().normals(kTokens* kWidth)};
  std::vector<std::int64_t> targets_;
  attn::Linear layer_{kWidth, kClasses};
};

TEST_F(AccumulationTest, small_batches_have_the_gradient_of_all_tokens_at_once) {
  attn::Tape tape;
  tape.backward(loss(tape, 0, kTokens));
  expect_exact(tape.gradient(layer_, "weight"));

  tape.clear();
  tape.backward(loss(tape, 0, 11));
  tape.clear_keeping_gradients();
  tape.backward(loss(tape, 11, kTokens));
  expect_exact(tape.gradient(layer_, "weight"));
  // Gradients can still be used after the last call to clear_keeping_gradients().
  tape.clear_keeping_gradients();
  expect_exact(tape.gradient(layer_, "weight"));
  const float norm = attn::clip_grad_norm(tape, 1);
  EXPECT_GT(norm, 1);
  EXPECT_NEAR(attn::clip_grad_norm(tape, 1), 1, 1e-5);

  // clear() leaves no gradients.
  tape.clear();
  tape.backward(loss(tape, 0, kTokens));
  expect_exact(tape.gradient(layer_, "weight"));
}

TEST_F(AccumulationTest, a_parameter_of_one_batch_keeps_its_gradient) {
  attn::Linear other(2, 1, false);
  other.set_parameter("weight", OwnedTensor({1, 2}, {1, 2}));
  attn::Tape tape;
  tape.backward(other.forward(tape.constant(OwnedTensor({1, 2}, {3, 4}))));
  tape.clear_keeping_gradients();
  tape.backward(loss(tape, 0, kTokens));
  EXPECT_THAT(values(tape.gradient(other, "weight")), ElementsAre(3, 4));
  expect_exact(tape.gradient(layer_, "weight"));
  attn::Sgd optimizer({{"other", other}, {"layer", layer_}}, {.learning_rate = 0.5});
  optimizer.step(tape);
  EXPECT_THAT(values(other.parameter("weight")), ElementsAre(-0.5F, 0));
}

TEST_F(AccumulationTest, gradients_are_not_used_between_a_forward_pass_and_backward) {
  attn::Tape tape;
  const std::string too_early =
      "invalid_argument: gradient: got a call before backward(), needs backward() first";
  tape.clear_keeping_gradients();
  EXPECT_EQ(error_of([&] { tape.gradient(layer_, "weight"); }), too_early);
  tape.backward(loss(tape, 0, 11));
  tape.clear_keeping_gradients();
  const Variable next = loss(tape, 11, 22);
  EXPECT_EQ(error_of([&] { tape.gradient(layer_, "weight"); }), too_early);
  // A parameter must not change while the tape keeps its gradient. Otherwise backward() would add
  // gradients with respect to different values.
  layer_.set_parameter("bias", OwnedTensor({kClasses}));
  EXPECT_THAT(error_of([&] { tape.backward(next); }),
              testing::HasSubstr("bias: got a change between the forward pass and backward()"));
}

TEST_F(AccumulationTest, a_steady_loop_allocates_nothing) {
  attn::Tape tape;
  attn::AdamW optimizer(layer_);
  attn_test::expect_no_allocations([&] {
    tape.clear();
    for (std::int64_t begin = 0; begin < kTokens; begin += 16) {
      tape.clear_keeping_gradients();
      tape.backward(loss(tape, begin, begin + 16));
    }
    optimizer.step(tape);
  });
}

TEST_F(AccumulationTest, a_failed_allocation_leaves_gradients_as_they_were) {
  attn::Tape tape;
  tape.backward(loss(tape, 0, kTokens));
  EXPECT_GT(attn_test::out_of_memory_failures([&] { tape.clear_keeping_gradients(); }), 0);
  expect_exact(tape.gradient(layer_, "weight"));
}

/// Compares the gradients of x with and without destroying the layer before backward().
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
      *layer = make();  // other parameters, perhaps at the same address
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

TEST(TapeTest, ALayerMayBeDestroyedBeforeBackward) {
  const auto call = [](const auto& layer, const Variable& x) { return layer.forward(x); };
  compare_gone_layer("Linear", {3, 4}, [] { return attn::Linear(4, 5); }, call);
  compare_gone_layer("LayerNorm", {3, 4}, [] { return attn::LayerNorm(4); }, call);
  compare_gone_layer("RmsNorm", {3, 4}, [] { return attn::RmsNorm(4); }, call);
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

TEST(TapeTest, VariablesForDisplayHaveNoBackwardPass) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({3, 4}, std::vector<float>(12, 0.5F)));
  Variable weights;
  const Variable y = attn::scaled_dot_product_attention(x, x, x, {}, {}, {.weights = &weights});
  EXPECT_THAT(attn_test::error_of([&] { tape.backward(weights, OwnedTensor(weights.shape())); }),
              testing::HasSubstr("a variable that is only for display"));
  tape.backward(y, OwnedTensor({3, 4}, std::vector<float>(12, 1.0F)));
}

}  // namespace
