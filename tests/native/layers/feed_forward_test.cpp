#include "attn/layers/feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/feed_forward_case.hpp"
#include "random.hpp"
#include "reference/activation.hpp"

namespace {

using attn::Activation;
using attn::Dropout;
using attn::FeedForward;
using attn::FeedForwardOptions;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;
using reference::Bounded;

using Network = attn_test::RandomNetwork<FeedForward>;

Bounded exact(const Network& layer, const Array& x) {
  Bounded hidden = layer.apply("linear1", {x, {}});
  const Activation activation = layer.network.options().activation;
  for (std::size_t i = 0; i < hidden.exact.values.size(); ++i) {
    double& value = hidden.exact.values[i];
    value = reference::activate(activation, value);
    // The slope of GELU is at most 1.13.
    hidden.error.values[i] = 1.13 * hidden.error.values[i] + 1e-6 * std::abs(value) + 2e-38;
  }
  return layer.apply("linear2", hidden);
}

using FeedForwardTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(FeedForwardTest);

TEST_P(FeedForwardTest, matches_the_reference) {
  Random random;
  for (const FeedForwardOptions& options :
       {FeedForwardOptions{.d_model = 1, .dim_feedforward = 1},
        FeedForwardOptions{.d_model = 5, .dim_feedforward = 17, .activation = Activation::kGelu},
        FeedForwardOptions{.d_model = 24,
                           .dim_feedforward = 50,
                           .out_features = 7,
                           .activation = Activation::kGeluTanh},
        FeedForwardOptions{.d_model = 64, .dim_feedforward = 256, .bias = false}}) {
    attn_test::expect_exact(Network(options, random),
                            options.out_features.value_or(options.d_model), random, context(),
                            exact);
  }
}

// D2L 11.7.2: the function is the same at every position.
TEST_P(FeedForwardTest, every_position_is_computed_separately) {
  Random random;
  const Network network({.d_model = 4, .dim_feedforward = 4, .out_features = 8}, random);
  const std::vector<float> x(2 * 3 * 4, 1.0F);
  std::vector<float> y(2 * 3 * 8);
  network.network.forward({x.data(), {2, 3, 4}}, {y.data(), {2, 3, 8}}, {}, context());
  for (std::ptrdiff_t row = 1; row < 6; ++row) {
    EXPECT_TRUE(
        same_bits({y.begin(), y.begin() + 8}, {y.begin() + row * 8, y.begin() + (row + 1) * 8}));
  }
}

TEST_P(FeedForwardTest, every_layout_gives_the_same_bits) {
  Random random;
  const Network network({.d_model = 12, .dim_feedforward = 33, .activation = Activation::kGelu},
                        random);
  attn_test::expect_the_same_bits_in_every_layout(network.network, random, context(1), context());
}

TEST_P(FeedForwardTest, dropout_acts_between_the_layers) {
  Random random;
  const Network network({.d_model = 6, .dim_feedforward = 20}, random);
  const std::vector<float> x = random.normals(3 * 6);
  std::vector<float> y(3 * 6), hidden(3 * 20), want(3 * 6);
  const Dropout dropout{.probability = 0.5F, .training = true, .random = {1, 2}};
  network.network.forward({x.data(), {3, 6}}, {y.data(), {3, 6}}, dropout, context());
  attn::Linear first(6, 20), second(20, 6);
  for (const char* name : {"weight", "bias"}) {
    first.set_parameter(name, network.network.parameter(std::string("linear1.") + name));
    second.set_parameter(name, network.network.parameter(std::string("linear2.") + name));
  }
  const attn::Tensor h(hidden.data(), {3, 20});
  first.forward({x.data(), {3, 6}}, h, context());
  attn::apply_activation(h, h, Activation::kRelu, context());
  attn::apply_dropout(h, h, dropout, context());
  second.forward(h, {want.data(), {3, 6}}, context());
  EXPECT_TRUE(same_bits(y, want));
}

TEST_P(FeedForwardTest, xavier_draws_within_its_bounds) {
  FeedForward network({.d_model = 10, .dim_feedforward = 30});
  network.initialize_xavier({5, 7}, context());
  FeedForward again({.d_model = 10, .dim_feedforward = 30});
  again.initialize_xavier({5, 7}, context(1));
  for (const char* name : {"linear1.weight", "linear2.weight"}) {
    const attn::ConstTensor weight = network.parameter(name);
    float largest = 0;
    for (int i = 0; i < 300; ++i) {
      largest = std::max(largest, std::abs(weight.data()[i]));
      EXPECT_EQ(weight.data()[i], again.parameter(name).data()[i]);
    }
    EXPECT_LE(largest, std::sqrt(6.0F / 40));
    EXPECT_GT(largest, 0.9F * std::sqrt(6.0F / 40));
  }
  EXPECT_NE(network.parameter("linear1.weight")(0, 0), network.parameter("linear2.weight")(0, 0));
  // The inner layers compute with the parameters that were drawn.
  std::vector<float> x(10, 1.0F), y(10, 0.0F);
  network.forward({x.data(), {1, 10}}, {y.data(), {1, 10}}, {}, context());
  EXPECT_THAT(y, ::testing::Contains(::testing::Ne(0.0F)));
}

TEST_P(FeedForwardTest, a_steady_loop_does_not_allocate) {
  Random random;
  const Network network({.d_model = 6, .dim_feedforward = 20}, random);
  attn_test::expect_no_allocations_in_forward(network.network, random, context());
}

TEST(FeedForwardErrorTest, sizes_and_shapes) {
  attn_test::expect_feed_forward_errors<FeedForward>();
  EXPECT_EQ(error_of([] { FeedForward({.d_model = 1, .dim_feedforward = 1, .out_features = 0}); }),
            "invalid_argument: out_features: got 0, needs 1 or more");
  const FeedForward network({.d_model = 3, .dim_feedforward = 2});
  EXPECT_THAT(network.parameter_names(), ::testing::ElementsAre("linear1.weight", "linear1.bias",
                                                                "linear2.weight", "linear2.bias"));
}

}  // namespace
