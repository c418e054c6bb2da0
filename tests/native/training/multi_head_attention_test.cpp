// Multi-head attention on a tape.

#include "attn/layers/multi_head_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attn/owned_tensor.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;

using TapedMultiHeadAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedMultiHeadAttentionTest);

struct Inputs {
  OwnedTensor query, key, value;
};

/// Directional derivatives of Σ dy∘y by differences, along random directions.
void expect_gradients(attn::MultiHeadAttention& layer, const Inputs& in,
                      const attn::AttentionOptions& options, bool self, attn::Context& context) {
  Random random;
  layer.update_parameters(
      [&](const attn::Parameter& p) {
        const std::size_t count = values(p.values).size();
        for (std::size_t i = 0; i < count; ++i) p.values.data()[i] = random.uniform(-0.7F, 0.7F);
      },
      context);
  OwnedTensor output(in.query.shape());
  layer.forward(in.query, in.key, in.value, output, {.attention = options}, context);
  OwnedTensor dy(in.query.shape());
  for (float& x : dy.values()) x = random.uniform(-1, 1);

  attn::Tape tape(context);
  const Variable q = tape.variable(in.query);
  const Variable k = self ? q : tape.variable(in.key), v = self ? q : tape.variable(in.value);
  const Variable y = layer.forward(q, k, v, options);
  EXPECT_TRUE(same_bits(values(y.value()), values(output)));
  tape.backward(y, dy);

  const auto objective = [&](const Inputs& at) {
    layer.forward(at.query, at.key, at.value, output, {.attention = options}, context);
    double sum = 0;
    for (std::size_t i = 0; i < dy.values().size(); ++i) {
      sum += static_cast<double>(dy.values()[i]) * static_cast<double>(output.values()[i]);
    }
    return sum;
  };
  constexpr float kStep = 1.0F / 128;
  const auto direction = [&](std::size_t count) {
    return random.uniforms(static_cast<std::int64_t>(count), -1, 1);
  };
  const auto expect_close = [&](double difference, const std::vector<float>& gradient,
                                const std::vector<float>& along, std::string_view name) {
    ASSERT_EQ(gradient.size(), along.size()) << name;
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < along.size(); ++i) {
      const double term = static_cast<double>(gradient[i]) * static_cast<double>(along[i]);
      sum += term;
      size += std::abs(term);
    }
    EXPECT_NEAR(difference, sum, 2e-3 * size + 1e-3) << name;
  };
  const auto check_input = [&](std::vector<OwnedTensor Inputs::*> members, const Variable& input) {
    const std::vector<float> along = direction((in.*members[0]).values().size());
    Inputs up = in, down = in;
    for (auto member : members) {
      for (std::size_t i = 0; i < along.size(); ++i) {
        (up.*member).values()[i] += kStep * along[i];
        (down.*member).values()[i] -= kStep * along[i];
      }
    }
    expect_close((objective(up) - objective(down)) / (2.0 * static_cast<double>(kStep)),
                 values(input.gradient()), along, "input");
  };
  if (self) {
    check_input({&Inputs::query, &Inputs::key, &Inputs::value}, q);
  } else {
    check_input({&Inputs::query}, q);
    check_input({&Inputs::key}, k);
    check_input({&Inputs::value}, v);
  }
  for (const std::string& name : layer.parameter_names()) {
    const std::vector<float> gradient = values(tape.gradient(layer, name));
    const std::vector<float> at = values(layer.parameter(name));
    const std::vector<float> along = direction(at.size());
    const auto objective_at = [&](float step) {
      std::vector<float> moved = at;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * along[i];
      layer.set_parameter(name, attn::ConstTensor(moved.data(), layer.parameter(name).shape()),
                          context);
      return objective(in);
    };
    const double difference =
        (objective_at(kStep) - objective_at(-kStep)) / (2.0 * static_cast<double>(kStep));
    layer.set_parameter(name, attn::ConstTensor(at.data(), layer.parameter(name).shape()), context);
    expect_close(difference, gradient, along, name);
  }
}

TEST_P(TapedMultiHeadAttentionTest, SelfAttention) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 5, 12}, random);
  for (const bool bias : {false, true}) {
    attn::MultiHeadAttention layer({.d_model = 12, .num_heads = 3, .bias = bias});
    expect_gradients(layer, {x, x, x}, {.causal = true}, true, context());
  }
}

TEST_P(TapedMultiHeadAttentionTest, CrossAttentionOfOtherWidths) {
  Random random;
  const Inputs in{uniform_tensor({2, 3, 8}, random), uniform_tensor({2, 7, 5}, random),
                  uniform_tensor({2, 7, 6}, random)};
  attn::MultiHeadAttention layer({.d_model = 8,
                                  .num_heads = 4,
                                  .num_kv_heads = 2,
                                  .key_dim = 5,
                                  .value_dim = 6,
                                  .bias = true});
  expect_gradients(layer, in, {}, false, context());
}

TEST_P(TapedMultiHeadAttentionTest, GroupedHeadsWithEveryKindOfPositions) {
  Random random;
  const OwnedTensor x = uniform_tensor({1, 6, 16}, random);
  attn::MultiHeadAttention layer(
      {.d_model = 16,
       .num_heads = 4,
       .num_kv_heads = 2,
       .bias = true,
       .positions = {.rotary = attn::RotaryEmbeddingOptions{.rotary_dim = 2},
                     .alibi = true,
                     .t5_bias = attn::T5BiasOptions{.num_buckets = 4, .max_distance = 8},
                     .max_relative_distance = 2},
       .sinks = true});
  expect_gradients(layer, {x, x, x}, {.causal = true}, true, context());
  // Without a batch, and queries of their own.
  const Inputs in{uniform_tensor({3, 16}, random), uniform_tensor({6, 16}, random),
                  uniform_tensor({6, 16}, random)};
  expect_gradients(layer, in, {.diagonal = attn::Diagonal::bottom_right()}, false, context());
}

TEST_P(TapedMultiHeadAttentionTest, NormalisedHeadsOfTheirOwnWidth) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 5, 7}, random);
  for (const std::int64_t kv_heads : {3, 1}) {
    for (const bool rotary : {false, true}) {
      attn::MultiHeadAttentionOptions options{
          .d_model = 7,
          .num_heads = 3,
          .num_kv_heads = kv_heads,
          .head_dim = 4,
          .bias = true,
          .output_bias = !rotary,
          .qk_norm = attn::RmsNormOptions{.eps = 0.1F, .zero_centred_weight = rotary},
          .scale = 0.7F,
          .softcap = 3,
          .window = attn::Window{2, 0}};
      if (rotary) options.positions.rotary = attn::RotaryEmbeddingOptions{};
      for (const bool all_heads : {false, true}) {
        options.qk_norm_all_heads = all_heads;
        attn::MultiHeadAttention layer(options);
        expect_gradients(layer, {x, x, x}, {}, true, context());
        const Inputs in{uniform_tensor({3, 7}, random), uniform_tensor({6, 7}, random),
                        uniform_tensor({6, 7}, random)};
        expect_gradients(layer, in, {.diagonal = attn::Diagonal::offset(1)}, false, context());
      }
    }
  }
}

TEST_P(TapedMultiHeadAttentionTest, IntermediatesCanBeWatched) {
  Random random;
  const OwnedTensor x = uniform_tensor({1, 4, 6}, random);
  attn::MultiHeadAttention layer({.d_model = 6,
                                  .num_heads = 2,
                                  .head_dim = 4,
                                  .qk_norm = attn::RmsNormOptions{},
                                  .positions = {.rotary = attn::RotaryEmbeddingOptions{}}});
  layer.initialize_xavier(1, context());
  attn::Tape tape(context());
  const std::vector<std::string> names{"weights", "biased_scores", "q",      "q_norm.output",
                                       "k",       "k_norm.output", "output", "head_output"};
  tape.watch(layer, names);
  const Variable input = tape.variable(x);
  const Variable y = layer.forward(input, input, input);
  tape.backward(y, uniform_tensor({1, 4, 6}, random));
  attn::Intermediates shown(names);
  OwnedTensor output({1, 4, 6});
  layer.forward(x, x, x, output, {.intermediates = &shown}, context());
  for (const std::string& name : names) {
    const Variable seen = tape.intermediate(layer, name);
    EXPECT_TRUE(same_bits(values(seen.value()), values(shown[name]))) << name;
    EXPECT_EQ(values(seen.gradient()).size(), values(seen.value()).size()) << name;
  }
}

}  // namespace
