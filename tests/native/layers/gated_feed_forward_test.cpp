#include "attn/layers/gated_feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/layers/intermediates.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/feed_forward_case.hpp"
#include "random.hpp"
#include "reference/activation.hpp"

namespace {

using attn::Activation;
using attn::Dropout;
using attn::GatedFeedForward;
using attn::GatedFeedForwardOptions;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;
using reference::Bounded;

using Network = attn_test::RandomNetwork<GatedFeedForward>;

Bounded exact(const Network& layer, const Array& x) {
  Bounded hidden = layer.apply("gate_proj", {x, {}});
  const Bounded factor = layer.apply("up_proj", {x, {}});
  for (std::size_t i = 0; i < hidden.exact.values.size(); ++i) {
    const double gate = hidden.exact.values[i], times = factor.exact.values[i];
    const double value = reference::activate(layer.network.options().activation, gate);
    // The slopes of GELU and SiLU are at most 1.13.
    const double error = 1.13 * hidden.error.values[i] + 1e-6 * std::abs(value) + 2e-38;
    hidden.exact.values[i] = value * times;
    hidden.error.values[i] = error * std::abs(times) + std::abs(value) * factor.error.values[i] +
                             6e-8 * std::abs(value * times);
  }
  return layer.apply("down_proj", hidden);
}

using GatedFeedForwardTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(GatedFeedForwardTest);

TEST_P(GatedFeedForwardTest, matches_the_reference) {
  Random random;
  for (const GatedFeedForwardOptions& options :
       {GatedFeedForwardOptions{.d_model = 1, .dim_feedforward = 1},
        GatedFeedForwardOptions{
            .d_model = 5, .dim_feedforward = 17, .activation = Activation::kGelu},
        GatedFeedForwardOptions{
            .d_model = 24, .dim_feedforward = 50, .activation = Activation::kRelu, .bias = true},
        GatedFeedForwardOptions{
            .d_model = 9, .dim_feedforward = 33, .activation = Activation::kSigmoid},
        GatedFeedForwardOptions{.d_model = 64, .dim_feedforward = 172}}) {
    attn_test::expect_exact(Network(options, random), options.d_model, random, context(), exact);
  }
}

TEST_P(GatedFeedForwardTest, every_layout_gives_the_same_bits) {
  Random random;
  const Network network({.d_model = 12, .dim_feedforward = 33}, random);
  attn_test::expect_the_same_bits_in_every_layout(network.network, random, context(1), context());
}

TEST_P(GatedFeedForwardTest, is_made_of_three_layers_with_dropout_before_the_last) {
  Random random;
  const Network network({.d_model = 6, .dim_feedforward = 20}, random);
  const std::vector<float> x = random.normals(3 * 6);
  std::vector<float> y(3 * 6), want(3 * 6);
  const Dropout dropout{.probability = 0.5F, .training = true, .random = {1, 2}};
  attn::Intermediates shown({"gate_proj.output", "up_proj.output", "hidden"});
  network.network.forward({x.data(), {3, 6}}, {y.data(), {3, 6}}, dropout, context(), &shown);
  const attn::ConstTensor gate = shown["gate_proj.output"], up = shown["up_proj.output"];
  std::vector<float> hidden(3 * 20);
  const attn::Tensor h(hidden.data(), {3, 20});
  attn::apply_activation(gate, h, Activation::kSilu, context());
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t c = 0; c < 20; ++c) h(i, c) *= up(i, c);
  }
  attn::apply_dropout(h, h, dropout, context());
  const attn::ConstTensor got = shown["hidden"];
  EXPECT_TRUE(same_bits({got.data(), got.data() + 60}, hidden));
  attn::Linear last(20, 6, false);
  last.set_parameter("weight", network.network.parameter("down_proj.weight"));
  last.forward(h, {want.data(), {3, 6}}, context());
  EXPECT_TRUE(same_bits(y, want));
}

TEST_P(GatedFeedForwardTest, a_steady_loop_does_not_allocate) {
  Random random;
  const Network network({.d_model = 6, .dim_feedforward = 20}, random);
  attn_test::expect_no_allocations_in_forward(network.network, random, context());
}

TEST(GatedFeedForwardErrorTest, sizes_shapes_and_names) {
  attn_test::expect_feed_forward_errors<GatedFeedForward>();
  const GatedFeedForward network({.d_model = 3, .dim_feedforward = 2});
  EXPECT_THAT(network.parameter_names(),
              ::testing::ElementsAre("gate_proj.weight", "up_proj.weight", "down_proj.weight"));
  EXPECT_THAT(
      GatedFeedForward({.d_model = 3, .dim_feedforward = 2, .bias = true}).parameter_names(),
      ::testing::ElementsAre("gate_proj.weight", "gate_proj.bias", "up_proj.weight", "up_proj.bias",
                             "down_proj.weight", "down_proj.bias"));
}

}  // namespace
