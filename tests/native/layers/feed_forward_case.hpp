#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/linear.hpp"

/// Test code for both FeedForward and GatedFeedForward.
namespace attn_test {

template <class Layer>
using OptionsOf = std::remove_cvref_t<decltype(std::declval<Layer>().options())>;

/// A network with random weights, and the same weights for the reference.
template <class Layer>
struct RandomNetwork {
  Layer network;
  std::map<std::string, reference::Array> weights;

  RandomNetwork(const OptionsOf<Layer>& options, Random& random) : network(options) {
    for (const std::string& name : network.parameter_names()) {
      const attn::ConstTensor zeros = network.parameter(name);
      const std::vector<std::int64_t> shape(zeros.shape().begin(), zeros.shape().end());
      weights[name] = reference::Array(shape);
      const std::vector<float> values = random.normals(
          std::ssize(weights[name].values), 1 / std::sqrt(static_cast<float>(shape.back())));
      network.set_parameter(name, {values.data(), shape});
      weights[name] = reference::Array(shape, values);
    }
  }

  /// Applies the linear layer `name` of the network.
  reference::Bounded apply(const std::string& name, const reference::Bounded& x) const {
    const auto bias = weights.find(name + ".bias");
    return reference::linear(x, weights.at(name + ".weight"),
                             bias == weights.end() ? reference::Array() : bias->second);
  }
};

/// Compares the outputs of a network with the outputs that `exact` computes from the same input.
template <class Layer, class Exact>
void expect_exact(const RandomNetwork<Layer>& layer, std::int64_t out_features, Random& random,
                  attn::Context& context, Exact&& exact) {
  const std::int64_t d_model = layer.network.options().d_model;
  const std::vector<float> x = random.normals(2 * 9 * d_model);
  FloatTensor y = FloatTensor::filled({2, 9, out_features}, 77.0F);
  layer.network.forward({x.data(), {2, 9, d_model}}, y.view(), {}, context);
  const reference::Bounded want = exact(layer, reference::Array({2, 9, d_model}, x));
  EXPECT_TRUE(is_within(y.values(), want.exact, want.error));
}

/// Runs the network in place on inputs of several layouts, with the threads of `several`. Expects
/// the same bits as from one thread.
template <class Layer>
void expect_the_same_bits_in_every_layout(const Layer& network, Random& random, attn::Context& one,
                                          attn::Context& several) {
  const std::vector<float> x = random.normals(7 * 12);
  std::vector<float> want(x.size());
  network.forward({x.data(), {1, 7, 12}}, {want.data(), {1, 7, 12}}, {}, one);
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kTransposed}) {
    FloatTensor in({7, 12}, x, layout);
    network.forward(in.view(), in.view(), {}, several);
    EXPECT_TRUE(same_bits(in.values(), want));
    EXPECT_TRUE(in.gaps_are_untouched());
  }
}

template <class Layer>
void expect_no_allocations_in_forward(const Layer& network, Random& random,
                                      attn::Context& context) {
  std::vector<float> x = random.normals(3 * network.options().d_model);
  const attn::Tensor rows(x.data(), {3, network.options().d_model});
  expect_no_allocations([&] { network.forward(rows, rows, {}, context); });
}

/// Checks the error messages of a network for wrong sizes and arguments.
template <class Layer>
void expect_feed_forward_errors() {
  const auto size_error = [](const OptionsOf<Layer>& options) {
    return error_of([&] { Layer network(options); });
  };
  EXPECT_EQ(size_error({.d_model = 0, .dim_feedforward = 1}),
            "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_EQ(size_error({.d_model = 1, .dim_feedforward = 0}),
            "invalid_argument: dim_feedforward: got 0, needs 1 or more");
  const Layer network({.d_model = 3, .dim_feedforward = 2});
  std::vector<float> x(100, 1.0F), y(100, 5.0F);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](const float* data, Shape in, Shape out,
                         const attn::Dropout& dropout = {}) {
    return error_of([&] { network.forward({data, in}, {y.data(), out}, dropout); });
  };
  EXPECT_EQ(error(x.data(), {3}, {3}),
            "shape_mismatch: x: got shape (3), needs rank 2 (N, d_model) or 3 (B, N, d_model)");
  EXPECT_EQ(error(x.data(), {4, 2}, {4, 3}),
            "shape_mismatch: x: got shape (4, 2), needs shape (any, 3)");
  EXPECT_EQ(error(x.data(), {2, 4, 3}, {2, 3, 3}),
            "shape_mismatch: output: got shape (2, 3, 3), needs shape (2, 4, 3)");
  EXPECT_EQ(error(x.data(), {4, 3}, {4, 3}, {.probability = -1}),
            "invalid_argument: dropout: got -1, needs a probability between 0 and 1");
  EXPECT_EQ(error(nullptr, {4, 3}, {4, 3}), "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace attn_test
