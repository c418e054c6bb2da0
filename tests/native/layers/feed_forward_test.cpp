#include "attn/layers/feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/linear.hpp"

namespace {

using attn::Activation;
using attn::Dropout;
using attn::FeedForward;
using attn::FeedForwardOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

struct Network {
  FeedForward network;
  std::map<std::string, Array> weights;

  Network(const FeedForwardOptions& options, Random& random) : network(options) {
    for (const std::string& name : network.parameter_names()) {
      const attn::ConstTensor zeros = network.parameter(name);
      const std::vector<std::int64_t> shape(zeros.shape().begin(), zeros.shape().end());
      weights[name] = Array(shape);
      const std::vector<float> values = random.normals(
          std::ssize(weights[name].values), 1 / std::sqrt(static_cast<float>(shape.back())));
      network.set_parameter(name, {values.data(), shape});
      weights[name] = Array(shape, values);
    }
  }

  reference::Bounded exact(const Array& x) const {
    const auto weight = [&](const char* name) {
      const auto found = weights.find(name);
      return found == weights.end() ? Array() : found->second;
    };
    reference::Bounded hidden = linear({x, {}}, weight("linear1.weight"), weight("linear1.bias"));
    for (std::size_t i = 0; i < hidden.exact.values.size(); ++i) {
      double& value = hidden.exact.values[i];
      const Activation activation = network.options().activation;
      value = activation == Activation::kRelu   ? reference::relu(value)
              : activation == Activation::kGelu ? reference::gelu(value)
                                                : reference::gelu_tanh(value);
      // The slope of GELU is at most 1.13.
      hidden.error.values[i] = 1.13 * hidden.error.values[i] + 1e-6 * std::abs(value) + 2e-38;
    }
    return linear(hidden, weight("linear2.weight"), weight("linear2.bias"));
  }
};

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
    const Network network(options, random);
    const std::vector<float> x = random.normals(2 * 9 * options.d_model);
    const std::int64_t width = options.out_features.value_or(options.d_model);
    FloatTensor y = FloatTensor::filled({2, 9, width}, 77.0F);
    network.network.forward({x.data(), {2, 9, options.d_model}}, y.view(), {}, context());
    const reference::Bounded want = network.exact(Array({2, 9, options.d_model}, x));
    EXPECT_TRUE(is_within(y.values(), want.exact, want.error));
  }
}

// D2L 11.7.2: the function is the same at every position.
TEST_P(FeedForwardTest, every_position_is_by_itself) {
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

TEST(FeedForwardErrorTest, sizes_and_shapes) {
  const auto error = [](const FeedForwardOptions& options) {
    return error_of([&] { FeedForward network(options); });
  };
  EXPECT_EQ(error({.d_model = 0, .dim_feedforward = 1}),
            "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 1, .dim_feedforward = 0}),
            "invalid_argument: dim_feedforward: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 1, .dim_feedforward = 1, .out_features = 0}),
            "invalid_argument: out_features: got 0, needs 1 or more");
  const FeedForward network({.d_model = 3, .dim_feedforward = 2});
  std::vector<float> x(100, 1.0F), y(100, 5.0F);
  EXPECT_EQ(error_of([&] { network.forward({x.data(), {3}}, {y.data(), {3}}); }),
            "shape_mismatch: x: got shape (3), needs rank 2 (N, d_model) or 3 (B, N, d_model)");
  EXPECT_EQ(error_of([&] { network.forward({x.data(), {4, 2}}, {y.data(), {4, 3}}); }),
            "shape_mismatch: x: got shape (4, 2), needs shape (any, 3)");
  EXPECT_EQ(error_of([&] { network.forward({x.data(), {2, 4, 3}}, {y.data(), {2, 3, 3}}); }),
            "shape_mismatch: output: got shape (2, 3, 3), needs shape (2, 4, 3)");
  EXPECT_EQ(error_of([&] {
              network.forward({x.data(), {4, 3}}, {y.data(), {4, 3}}, {.probability = -1});
            }),
            "invalid_argument: dropout: got -1, needs a probability between 0 and 1");
  EXPECT_EQ(error_of([&] { network.forward({nullptr, {4, 3}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_THAT(network.parameter_names(), ::testing::ElementsAre("linear1.weight", "linear1.bias",
                                                                "linear2.weight", "linear2.bias"));
}

}  // namespace
