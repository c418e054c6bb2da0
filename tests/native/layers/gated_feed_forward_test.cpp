#include "attn/layers/gated_feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/intermediates.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/linear.hpp"

namespace {

using attn::Activation;
using attn::Dropout;
using attn::GatedFeedForward;
using attn::GatedFeedForwardOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;
using reference::Bounded;

struct GatedNetwork {
  GatedFeedForward network;
  std::map<std::string, Array> weights;

  GatedNetwork(const GatedFeedForwardOptions& options, Random& random) : network(options) {
    for (const std::string& name : network.parameter_names()) {
      const attn::ConstTensor zeros = network.parameter(name);
      const std::vector<std::int64_t> shape(zeros.shape().begin(), zeros.shape().end());
      std::int64_t count = 1;
      for (const std::int64_t size : shape) count *= size;
      const std::vector<float> values =
          random.normals(count, 1 / std::sqrt(static_cast<float>(shape.back())));
      network.set_parameter(name, {values.data(), shape});
      weights[name] = Array(shape, values);
    }
  }

  Bounded exact(const Array& x) const {
    const auto through = [&](const char* name, const Bounded& in) {
      const auto bias = weights.find(std::string(name) + ".bias");
      return reference::linear(in, weights.at(std::string(name) + ".weight"),
                               bias == weights.end() ? Array() : bias->second);
    };
    Bounded hidden = through("gate_proj", {x, {}});
    const Bounded factor = through("up_proj", {x, {}});
    for (std::size_t i = 0; i < hidden.exact.values.size(); ++i) {
      const double gate = hidden.exact.values[i], times = factor.exact.values[i];
      double value = 0;
      switch (network.options().activation) {
        case Activation::kSilu:
          value = gate / (1 + std::exp(-gate));
          break;
        case Activation::kGelu:
          value = reference::gelu(gate);
          break;
        case Activation::kSigmoid:
          value = 1 / (1 + std::exp(-gate));
          break;
        default:
          value = reference::relu(gate);
      }
      // The slopes of GELU and SiLU are at most 1.13.
      const double error = 1.13 * hidden.error.values[i] + 1e-6 * std::abs(value) + 2e-38;
      hidden.exact.values[i] = value * times;
      hidden.error.values[i] = error * std::abs(times) + std::abs(value) * factor.error.values[i] +
                               6e-8 * std::abs(value * times);
    }
    return through("down_proj", hidden);
  }
};

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
    const GatedNetwork network(options, random);
    const std::vector<float> x = random.normals(2 * 9 * options.d_model);
    FloatTensor y = FloatTensor::filled({2, 9, options.d_model}, 77.0F);
    network.network.forward({x.data(), {2, 9, options.d_model}}, y.view(), {}, context());
    const Bounded want = network.exact(Array({2, 9, options.d_model}, x));
    EXPECT_TRUE(is_within(y.values(), want.exact, want.error));
  }
}

TEST_P(GatedFeedForwardTest, every_layout_gives_the_same_bits) {
  Random random;
  const GatedNetwork network({.d_model = 12, .dim_feedforward = 33}, random);
  const std::vector<float> x = random.normals(7 * 12);
  std::vector<float> want(x.size());
  network.network.forward({x.data(), {1, 7, 12}}, {want.data(), {1, 7, 12}}, {}, context(1));
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kTransposed}) {
    FloatTensor in({7, 12}, x, layout);
    network.network.forward(in.view(), in.view(), {}, context());
    EXPECT_TRUE(same_bits(in.values(), want));
    EXPECT_TRUE(in.gaps_are_untouched());
  }
}

TEST_P(GatedFeedForwardTest, is_made_of_three_layers_with_dropout_before_the_last) {
  Random random;
  const GatedNetwork network({.d_model = 6, .dim_feedforward = 20}, random);
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
  const GatedNetwork network({.d_model = 6, .dim_feedforward = 20}, random);
  std::vector<float> x = random.normals(3 * 6);
  const auto call = [&] {
    network.network.forward({x.data(), {3, 6}}, {x.data(), {3, 6}}, {}, context());
  };
  call();
  call();
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(probe.count(), 0);
}

TEST(GatedFeedForwardErrorTest, sizes_shapes_and_names) {
  const auto error = [](const GatedFeedForwardOptions& options) {
    return error_of([&] { GatedFeedForward network(options); });
  };
  EXPECT_EQ(error({.d_model = 0, .dim_feedforward = 1}),
            "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 1, .dim_feedforward = 0}),
            "invalid_argument: dim_feedforward: got 0, needs 1 or more");
  const GatedFeedForward network({.d_model = 3, .dim_feedforward = 2});
  std::vector<float> x(100, 1.0F), y(100, 5.0F);
  EXPECT_EQ(error_of([&] { network.forward({x.data(), {3}}, {y.data(), {3}}); }),
            "shape_mismatch: x: got shape (3), needs rank 2 (N, d_model) or 3 (B, N, d_model)");
  EXPECT_EQ(error_of([&] { network.forward({x.data(), {2, 4, 3}}, {y.data(), {2, 3, 3}}); }),
            "shape_mismatch: output: got shape (2, 3, 3), needs shape (2, 4, 3)");
  EXPECT_EQ(error_of([&] {
              network.forward({x.data(), {4, 3}}, {y.data(), {4, 3}}, {.probability = -1});
            }),
            "invalid_argument: dropout: got -1, needs a probability between 0 and 1");
  EXPECT_EQ(error_of([&] { network.forward({nullptr, {4, 3}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_THAT(network.parameter_names(),
              ::testing::ElementsAre("gate_proj.weight", "up_proj.weight", "down_proj.weight"));
  EXPECT_THAT(
      GatedFeedForward({.d_model = 3, .dim_feedforward = 2, .bias = true}).parameter_names(),
      ::testing::ElementsAre("gate_proj.weight", "gate_proj.bias", "up_proj.weight", "up_proj.bias",
                             "down_proj.weight", "down_proj.bias"));
}

}  // namespace
