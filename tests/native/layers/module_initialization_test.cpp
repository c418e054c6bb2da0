// Tests initialize_xavier() for the layers that draw all their parameters in the same way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/initialization.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "compare.hpp"
#include "module_values.hpp"

namespace {

using attn_test::same_bits;
using attn_test::values_of;

/// Sets every parameter to a number that initialisation cannot produce.
void spoil(attn::Module& module) {
  for (const std::string& name : module.parameter_names()) {
    const std::vector<float> values(values_of(module, name).size(), 77.0F);
    module.set_parameter(name, {values.data(), module.parameter(name).shape()});
  }
}

template <class Layer>
void expect_drawn(Layer& layer) {
  spoil(layer);
  layer.initialize_xavier({.seed = 5, .stream = 100});
  std::uint64_t stream = 100;
  for (const std::string& name : layer.parameter_names()) {
    SCOPED_TRACE(name);
    const attn::ConstTensor parameter = layer.parameter(name);
    const std::vector<float> got = values_of(layer, name);
    if (parameter.rank() == 1) {
      EXPECT_THAT(got, ::testing::Each(0.0F));
      continue;
    }
    const attn::RandomStream random{.seed = 5, .stream = stream++};
    std::vector<float> want(got.size());
    const auto count = static_cast<std::int64_t>(want.size());
    if (name == "embedding.weight") {
      attn::fill_normal({want.data(), {count}}, random);
    } else {
      // The fan-in and the fan-out of a kernel are its numbers of input and output channels, each
      // times its width.
      const double taps = parameter.rank() == 3 ? static_cast<double>(parameter.size(2)) : 1;
      const double fans = static_cast<double>(parameter.size(0) + parameter.size(1)) * taps;
      const auto bound = static_cast<float>(std::sqrt(6 / fans));
      attn::fill_uniform({want.data(), {count}}, random, -bound, bound);
    }
    EXPECT_TRUE(same_bits(got, want));
  }
}

TEST(ModuleInitializationTest, draws_each_weight_from_its_own_stream) {
  attn::AdditiveAttention additive(3, 4, 5);
  expect_drawn(additive);
  attn::RNN rnn({3, 4, 2});
  expect_drawn(rnn);
  attn::GRU gru({3, 4, 2, false});
  expect_drawn(gru);
  attn::Conv1d conv({.in_channels = 3, .out_channels = 4, .kernel_size = 5});
  expect_drawn(conv);
  attn::BahdanauDecoder decoder({10, 3, 4, 2});
  expect_drawn(decoder);
}

TEST(ModuleInitializationTest, is_what_the_layer_computes_with) {
  attn::Conv1d conv({.in_channels = 2, .out_channels = 1, .kernel_size = 2});
  conv.initialize_xavier({.seed = 7});
  const std::vector<float> weight = values_of(conv, "weight"), x{1, 0, 0, 0};
  float y = 77;
  conv.forward({x.data(), {2, 2}}, {&y, {1, 1}});
  EXPECT_EQ(y, weight[0]);
}

TEST(ModuleInitializationTest, allocates_nothing) {
  attn::Context context({.num_threads = 1});
  attn::Conv1d layer({.in_channels = 2, .out_channels = 3, .kernel_size = 4});
  attn_test::AllocationProbe probe;
  layer.initialize_xavier({.seed = 1}, context);
  EXPECT_EQ(probe.count(), 0);
}

}  // namespace
