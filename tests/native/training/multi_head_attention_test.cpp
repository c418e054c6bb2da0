// Tests multi-head attention on a tape.

#include "attn/layers/multi_head_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/training/attention.hpp"
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

/// Terms of the score that are passed to a call, by their names in the call.
using Terms = std::map<std::string, OwnedTensor>;

/// The options of a call, with its terms as tensors.
attn::AttentionOptions with_terms(attn::AttentionOptions options, const Terms& terms) {
  for (const auto& [name, values] : terms) {
    if (name == "bias") options.bias = values;
    if (name == "alibi_slopes") options.alibi_slopes = values;
    if (name == "t5_table") options.t5_bias->table = values;
    if (name == "relative_keys") options.relative_keys = values;
    if (name == "relative_values") options.relative_values = values;
    if (name == "sinks") options.sinks = values;
  }
  return options;
}

/// Compares gradients with directional derivatives of Σ dy∘y, computed by finite differences along
/// random directions. If a term in `terms` replaces a parameter of the layer, this parameter must
/// have no gradient.
void expect_gradients(attn::MultiHeadAttention& layer, const Inputs& in,
                      const attn::MultiHeadAttentionCall& call, bool self, attn::Context& context,
                      const Terms& terms = {}) {
  Random random;
  layer.update_parameters(
      [&](const attn::Parameter& p) {
        const std::size_t count = values(p.values).size();
        for (std::size_t i = 0; i < count; ++i) p.values.data()[i] = random.uniform(-0.7F, 0.7F);
      },
      context);
  OwnedTensor output(in.query.shape());
  const auto run = [&](const Inputs& at, const Terms& given) {
    attn::MultiHeadAttentionCall with = call;
    with.attention = with_terms(call.attention, given);
    layer.forward(at.query, at.key, at.value, output, with, context);
  };
  run(in, terms);
  OwnedTensor dy(in.query.shape());
  for (float& x : dy.values()) x = random.uniform(-1, 1);

  attn::Tape tape(context);
  const Variable q = tape.variable(in.query);
  const Variable k = self ? q : tape.variable(in.key), v = self ? q : tape.variable(in.value);
  std::map<std::string, Variable> variables;
  for (const auto& [name, values] : terms) variables[name] = tape.variable(values);
  const Variable y = layer.forward(q, k, v, call,
                                   {.bias = variables["bias"],
                                    .alibi_slopes = variables["alibi_slopes"],
                                    .t5_table = variables["t5_table"],
                                    .relative_keys = variables["relative_keys"],
                                    .relative_values = variables["relative_values"],
                                    .sinks = variables["sinks"]});
  EXPECT_TRUE(same_bits(values(y.value()), values(output)));
  tape.backward(y, dy);

  const auto objective = [&](const Inputs& at, const Terms& given) {
    run(at, given);
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
    expect_close(
        (objective(up, terms) - objective(down, terms)) / (2.0 * static_cast<double>(kStep)),
        values(input.gradient()), along, "input");
  };
  if (self) {
    check_input({&Inputs::query, &Inputs::key, &Inputs::value}, q);
  } else {
    check_input({&Inputs::query}, q);
    check_input({&Inputs::key}, k);
    check_input({&Inputs::value}, v);
  }
  for (const auto& [name, at] : terms) {
    const std::vector<float> along = direction(at.values().size());
    Terms up = terms, down = terms;
    for (std::size_t i = 0; i < along.size(); ++i) {
      up[name].values()[i] += kStep * along[i];
      down[name].values()[i] -= kStep * along[i];
    }
    expect_close((objective(in, up) - objective(in, down)) / (2.0 * static_cast<double>(kStep)),
                 values(variables[name].gradient()), along, name);
  }
  for (const std::string& name : layer.parameter_names()) {
    if (terms.contains(name) ||
        (name == "relative_attention_bias.weight" && terms.contains("t5_table"))) {
      EXPECT_TRUE(tape.gradient(layer, name).is_none()) << name;
      continue;
    }
    const std::vector<float> gradient = values(tape.gradient(layer, name));
    const std::vector<float> at = values(layer.parameter(name));
    const std::vector<float> along = direction(at.size());
    const auto objective_at = [&](float step) {
      std::vector<float> moved = at;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * along[i];
      layer.set_parameter(name, attn::ConstTensor(moved.data(), layer.parameter(name).shape()),
                          context);
      return objective(in, terms);
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
    expect_gradients(layer, {x, x, x}, {.attention = {.causal = true}}, true, context());
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
  expect_gradients(layer, {x, x, x}, {.attention = {.causal = true}}, true, context());
  // Uses inputs without a batch dimension, and queries that differ from the keys.
  const Inputs in{uniform_tensor({3, 16}, random), uniform_tensor({6, 16}, random),
                  uniform_tensor({6, 16}, random)};
  expect_gradients(layer, in, {.attention = {.diagonal = attn::Diagonal::bottom_right()}}, false,
                   context());
}

TEST_P(TapedMultiHeadAttentionTest, TermsOfTheCallReplaceTheTermsOfTheLayerAndHaveGradients) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 6, 16}, random);
  attn::MultiHeadAttentionOptions options{.d_model = 16, .num_heads = 4, .num_kv_heads = 2};
  attn::T5Bias rule;
  rule.max_distance = 8;
  const Terms all{{"bias", uniform_tensor({2, 1, 6, 6}, random)},
                  {"alibi_slopes", uniform_tensor({4}, random)},
                  {"t5_table", uniform_tensor({4, 4}, random)},
                  {"relative_keys", uniform_tensor({5, 4}, random)},
                  {"relative_values", uniform_tensor({4, 5, 4}, random)},
                  {"sinks", uniform_tensor({4}, random)}};
  for (const bool has_its_own : {false, true}) {
    if (has_its_own) {
      options.positions = {.alibi = true,
                           .t5_bias = attn::T5BiasOptions{.num_buckets = 6},
                           .max_relative_distance = 1};
      options.sinks = true;
    }
    attn::MultiHeadAttention layer(options);
    expect_gradients(layer, {x, x, x}, {.attention = {.t5_bias = rule, .causal = true}}, true,
                     context(), all);
    // Passes one term at a time. A layer that has its own terms provides the other terms. Then
    // passes the bias in every shape that broadcasts.
    for (const auto& [name, values] : all) {
      if (name.starts_with("relative")) continue;
      attn::AttentionOptions rest;
      if (name == "t5_table") rest.t5_bias = rule;
      expect_gradients(layer, {x, x, x}, {.attention = rest}, true, context(), {{name, values}});
    }
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {2, 4, 6, 6}, {4, 6, 6}, {6, 6}, {4, 1, 6}, {2, 1, 1, 6}, {6}, {1}}) {
      OwnedTensor bias{std::span(shape)};
      for (float& value : bias.values()) value = random.uniform(-1, 1);
      expect_gradients(layer, {x, x, x}, {}, true, context(), {{"bias", bias}});
    }
  }
  // Uses queries that differ from the keys, and no batch dimension.
  attn::MultiHeadAttention layer(options);
  const Inputs in{uniform_tensor({3, 16}, random), uniform_tensor({6, 16}, random),
                  uniform_tensor({6, 16}, random)};
  expect_gradients(layer, in, {.attention = {.diagonal = attn::Diagonal::bottom_right()}}, false,
                   context(),
                   {{"bias", uniform_tensor({4, 3, 6}, random)},
                    {"relative_keys", uniform_tensor({3, 4}, random)},
                    {"relative_values", uniform_tensor({3, 4}, random)}});
}

TEST_P(TapedMultiHeadAttentionTest, AParameterOfAnotherLayerIsATermAndGetsTheSum) {
  Random random;
  const OwnedTensor x = uniform_tensor({5, 8}, random), dy = uniform_tensor({5, 8}, random);
  const attn::MultiHeadAttentionOptions options{
      .d_model = 8,
      .num_heads = 2,
      .positions = {.t5_bias = attn::T5BiasOptions{.num_buckets = 4}}};
  attn::MultiHeadAttention first(options), second(options);
  first.initialize_xavier(1, context());
  second.initialize_xavier(2, context());
  const char* const name = "relative_attention_bias.weight";
  const attn::MultiHeadAttentionCall call{.attention = {.t5_bias = attn::T5Bias{}}};

  // As in T5, both layers use the table of the first layer.
  attn::Tape tape(context());
  const Variable table = tape.parameter(first, name);
  const Variable input = tape.variable(x);
  const Variable hidden = first.forward(input, input, input);
  const Variable y = second.forward(hidden, hidden, hidden, call, {.t5_table = table});
  tape.backward(y, dy);
  EXPECT_TRUE(tape.gradient(second, name).is_none());
  const std::vector<float> shared = values(tape.gradient(first, name));

  // The same values, but each layer has its own copy of the table.
  second.set_parameter(name, first.parameter(name));
  tape.clear();
  const Variable again = tape.variable(x);
  const Variable inner = first.forward(again, again, again);
  const Variable z = second.forward(inner, inner, inner);
  EXPECT_TRUE(same_bits(values(z.value()), values(second.forward(inner, inner, inner).value())));
  tape.backward(z, dy);
  const std::vector<float> a = values(tape.gradient(first, name)),
                           b = values(tape.gradient(second, name));
  for (std::size_t i = 0; i < shared.size(); ++i) EXPECT_FLOAT_EQ(shared[i], a[i] + b[i]);
}

TEST_P(TapedMultiHeadAttentionTest, PositionsAlongSeveralAxes) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 5, 12}, random);
  std::vector<double> positions(3 * 2 * 5), of_keys(3 * 7);
  for (double& p : positions) p = std::floor(20 * random.unit());
  for (double& p : of_keys) p = std::floor(20 * random.unit());
  for (const auto axes : {attn::RotaryAxes::kSections, attn::RotaryAxes::kAxial}) {
    for (const bool qk_norm : {false, true}) {
      attn::MultiHeadAttentionOptions options{
          .d_model = 12,
          .num_heads = 2,
          .bias = true,
          .positions = {.rotary =
                            attn::RotaryEmbeddingOptions{.sections = {1, 1, 1}, .axes = axes}}};
      if (qk_norm) options.qk_norm = attn::RmsNormOptions{.eps = 0.1F};
      attn::MultiHeadAttention layer(options);
      const attn::MultiHeadAttentionCall call{.attention = {.causal = true},
                                              .positions = {positions.data(), {3, 2, 5}}};
      expect_gradients(layer, {x, x, x}, call, true, context());
      const Inputs in{x, uniform_tensor({2, 7, 12}, random), uniform_tensor({2, 7, 12}, random)};
      expect_gradients(layer, in,
                       {.positions = {positions.data(), {3, 2, 5}},
                        .key_positions = {of_keys.data(), {3, 1, 7}}},
                       false, context());
    }
  }
}

TEST_P(TapedMultiHeadAttentionTest, PositionsAreCopied) {
  Random random;
  const OwnedTensor x = uniform_tensor({4, 8}, random), dy = uniform_tensor({4, 8}, random);
  attn::MultiHeadAttention layer({.d_model = 8, .positions = {.rotary = {{}}}});
  layer.initialize_xavier(1, context());
  const auto gradient = [&](bool change) {
    std::vector<double> positions{3, 1, 4, 1.5};
    attn::Tape tape(context());
    const Variable input = tape.variable(x);
    const Variable y =
        layer.forward(input, input, input, {.positions = {positions.data(), {4}}}, {});
    if (change) positions.assign(4, 1e9);
    tape.backward(y, dy);
    return values(input.gradient());
  };
  EXPECT_TRUE(same_bits(gradient(true), gradient(false)));
}

TEST_P(TapedMultiHeadAttentionTest, DynamicScalingUsesTheNumberOfKeysEvenWithPadding) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 9, 8}, random);
  const std::vector<std::int32_t> key_lens{9, 4};
  attn::MultiHeadAttention layer(
      {.d_model = 8,
       .positions = {.rotary = attn::RotaryEmbeddingOptions{
                         .scaling = attn::DynamicNtkRotaryScaling{.factor = 4,
                                                                  .max_position_embeddings = 5}}}});
  attn::MultiHeadAttentionCall call;
  call.attention.key_lens = {key_lens.data(), {2}};
  expect_gradients(layer, {x, x, x}, call, true, context());
}

TEST_P(TapedMultiHeadAttentionTest, ErrorsExplainTheProblem) {
  const OwnedTensor x({1, 4, 6});
  attn::MultiHeadAttention layer({.d_model = 6, .num_heads = 2});
  attn::Tape tape(context()), other(context());
  const Variable in = tape.variable(x);
  const auto error = [&](const attn::MultiHeadAttentionCall& call,
                         const attn::AttentionVariables& terms) {
    return attn_test::error_of([&] { layer.forward(in, in, in, call, terms); });
  };
  EXPECT_EQ(error({}, {.t5_table = tape.variable(OwnedTensor({4, 2}))}),
            "invalid_argument: t5_table: got a table, needs the option t5_bias as well");
  EXPECT_EQ(
      error({}, {.bias = tape.variable(OwnedTensor({3, 4}))}),
      "shape_mismatch: bias: got shape (3, 4), needs a shape that broadcasts to (1, 2, 4, 4)");
  EXPECT_EQ(error({}, {.sinks = tape.variable(OwnedTensor({3}))}),
            "shape_mismatch: sinks: got shape (3), needs shape (2)");
  EXPECT_THAT(error({}, {.sinks = other.variable(OwnedTensor({2}))}),
              testing::HasSubstr("two tapes"));
  attn::KeyValueCache cache = layer.make_cache(1);
  EXPECT_EQ(error({.cache = &cache}, {}),
            "invalid_argument: cache: got a value, needs none when a tape records the call");
  attn::Intermediates shown({"q"});
  EXPECT_EQ(
      error({.intermediates = &shown}, {}),
      "invalid_argument: intermediates: got a value, needs none when a tape records the call");
  const std::vector<double> positions(4);
  EXPECT_EQ(error({.positions = {positions.data(), {4}}}, {}),
            "invalid_argument: positions: got some positions, needs none; the layer has no rotary "
            "positions");
}

TEST_P(TapedMultiHeadAttentionTest, NormalisedHeadsOfADifferentWidth) {
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
        expect_gradients(layer, in, {.attention = {.diagonal = attn::Diagonal::offset(1)}}, false,
                         context());
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
