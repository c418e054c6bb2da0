// Tests encoder and decoder on a tape. Outputs must be bit-identical to the outputs without a tape,
// and gradients must match the analytic reference in double precision.

#include "reference/transformer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/transformer_layer.hpp"
#include "reference/scalar.hpp"
#include "training/close.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::array_of;
using attn_test::expect_close;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using reference::ArrayOf;
using reference::Scalar;

using TapedTransformerTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedTransformerTest);

template <class Layer>
void expect_parameters(const attn::Tape& tape, const Layer& layer, reference::Tape& exact,
                       const reference::TransformerLayerOf<Scalar>& call) {
  for (const std::string& name : layer.parameter_names()) {
    expect_close(tape.gradient(layer, name), exact.gradient(call.weights.at(name)).exact.values,
                 name);
  }
}

const std::vector<attn::TransformerLayerOptions> kOptions = {
    {.d_model = 8, .num_heads = 2, .dim_feedforward = 17, .activation = attn::Activation::kGelu},
    {.d_model = 12,
     .num_heads = 4,
     .dim_feedforward = 5,
     .activation = attn::Activation::kGeluTanh,
     .norm_first = true,
     .num_kv_heads = 2},
    {.d_model = 6, .num_heads = 1, .dim_feedforward = 7, .norm_first = true, .bias = false}};

std::vector<attn::TransformerLayerOptions> all_options() {
  std::vector<attn::TransformerLayerOptions> all = attn_test::todays_layers();
  all.insert(all.end(), kOptions.begin(), kOptions.end());
  return all;
}

TEST_P(TapedTransformerTest, AnEncoderLayerHasTheGradientsOfTheReference) {
  Random random;
  for (const attn::TransformerLayerOptions& options : all_options()) {
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    attn::TransformerEncoderLayer layer(options);
    attn_test::randomize(layer, random);
    const OwnedTensor x = uniform_tensor({2, 5, options.d_model}, random);
    const OwnedTensor dy = uniform_tensor({2, 5, options.d_model}, random);
    OwnedTensor output({2, 5, options.d_model});
    layer.forward(x, output, {.attention = {.causal = true}}, context());
    attn::Tape tape(context());
    const Variable input = tape.variable(x);
    const Variable y = layer.forward(input, {.attention = {.causal = true}});
    EXPECT_TRUE(same_bits(values(y.value()), values(output)));
    tape.backward(y, dy);

    reference::Tape exact;
    const auto call = reference::variables(exact, attn_test::reference_of(layer, "", options));
    const ArrayOf<Scalar> in = exact.variables(array_of(x));
    reference::AttentionOf<Scalar> causal = attn_test::rules_of<Scalar>(options);
    if (options.sinks) causal.sinks = call.weights.at("self_attn.sinks");
    causal.causal_offset = reference::Array({1}, 0);
    const ArrayOf<Scalar> out = reference::encoder_layer<Scalar>(call, in, causal);
    exact.backward(reference::inner(out, array_of(dy)));
    expect_close(input.gradient(), exact.gradient(in).exact.values, "x");
    expect_parameters(tape, layer, exact, call);
  }
}

TEST_P(TapedTransformerTest, ADecoderLayerHasTheGradientsOfTheReference) {
  Random random;
  for (const attn::TransformerLayerOptions& options : all_options()) {
    if (options.parallel_residual) continue;
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    attn::TransformerDecoderLayer layer(options);
    attn_test::randomize(layer, random);
    const OwnedTensor x = uniform_tensor({2, 3, options.d_model}, random);
    const OwnedTensor memory = uniform_tensor({2, 7, options.d_model}, random);
    const OwnedTensor dy = uniform_tensor({2, 3, options.d_model}, random);
    OwnedTensor output({2, 3, options.d_model});
    layer.forward(x, memory, output, {}, context());
    attn::Tape tape(context());
    const Variable input = tape.variable(x), encoded = tape.variable(memory);
    const Variable y = layer.forward(input, encoded);
    EXPECT_TRUE(same_bits(values(y.value()), values(output)));
    tape.backward(y, dy);

    reference::Tape exact;
    const auto call = reference::variables(exact, attn_test::reference_of(layer, "", options));
    const ArrayOf<Scalar> in = exact.variables(array_of(x));
    const ArrayOf<Scalar> from = exact.variables(array_of(memory));
    reference::AttentionOf<Scalar> self = attn_test::rules_of<Scalar>(options), cross;
    if (options.sinks) self.sinks = call.weights.at("self_attn.sinks");
    cross.scale = self.scale;
    cross.softcap = self.softcap;
    const ArrayOf<Scalar> out = reference::decoder_layer<Scalar>(call, in, from, self, cross);
    exact.backward(reference::inner(out, array_of(dy)));
    expect_close(input.gradient(), exact.gradient(in).exact.values, "x");
    expect_close(encoded.gradient(), exact.gradient(from).exact.values, "memory");
    expect_parameters(tape, layer, exact, call);
  }
}

TEST_P(TapedTransformerTest, PositionsAlongSeveralAxesAndTermsHaveTheGradientsOfTheReference) {
  Random random;
  attn::TransformerLayerOptions options = kOptions[1];
  options.head_dim = 6;
  options.positions.rotary = attn::RotaryEmbeddingOptions{.sections = {1, 1, 1}};
  const std::vector<double> positions{0, 1, 2, 2, 3, 0, 1, 2, 2, 3, 0, 1, 2, 3, 3};  // (3, 1, 5)
  const attn::TensorView<const double> at(positions.data(), {3, 1, 5});
  const reference::RotaryPlaces places{.queries = positions, .keys = positions, .axes = {0, 1, 2}};
  const OwnedTensor x = uniform_tensor({2, 5, 12}, random), dy = uniform_tensor({2, 5, 12}, random);
  const OwnedTensor memory = uniform_tensor({2, 3, 12}, random);
  const OwnedTensor bias = uniform_tensor({4, 5, 5}, random), sinks = uniform_tensor({4}, random);
  const OwnedTensor cross_bias = uniform_tensor({2, 1, 1, 3}, random);

  attn::TransformerEncoderLayer layer(options);
  attn_test::randomize(layer, random);
  attn::Tape tape(context());
  const Variable input = tape.variable(x), b = tape.variable(bias), s = tape.variable(sinks);
  const Variable y = layer.forward(input, {.attention = {.causal = true}, .positions = at},
                                   {.bias = b, .sinks = s});
  OwnedTensor output({2, 5, 12});
  layer.forward(x, output,
                {.attention = {.bias = bias, .causal = true, .sinks = sinks}, .positions = at},
                context());
  EXPECT_TRUE(same_bits(values(y.value()), values(output)));
  tape.backward(y, dy);
  reference::Tape exact;
  auto call = reference::variables(exact, attn_test::reference_of(layer, "", options));
  call.places = places;
  const ArrayOf<Scalar> in = exact.variables(array_of(x));
  reference::AttentionOf<Scalar> causal = attn_test::rules_of<Scalar>(options);
  causal.causal_offset = reference::Array({1}, 0);
  causal.bias = exact.variables(array_of(bias));
  causal.sinks = exact.variables(array_of(sinks));
  exact.backward(
      reference::inner(reference::encoder_layer<Scalar>(call, in, causal), array_of(dy)));
  expect_close(input.gradient(), exact.gradient(in).exact.values, "x");
  expect_close(b.gradient(), exact.gradient(causal.bias).exact.values, "bias");
  expect_close(s.gradient(), exact.gradient(causal.sinks).exact.values, "sinks");
  expect_parameters(tape, layer, exact, call);

  attn::TransformerDecoderLayer decoder(options);
  attn_test::randomize(decoder, random);
  tape.clear();
  const Variable tokens = tape.variable(x), encoded = tape.variable(memory);
  const Variable self = tape.variable(bias), cross = tape.variable(cross_bias);
  const Variable z =
      decoder.forward(tokens, encoded, {.positions = at}, {.bias = self}, {.bias = cross});
  tape.backward(z, dy);
  reference::Tape again;
  auto decoding = reference::variables(again, attn_test::reference_of(decoder, "", options));
  decoding.places = places;
  const ArrayOf<Scalar> given = again.variables(array_of(x));
  const ArrayOf<Scalar> from = again.variables(array_of(memory));
  reference::AttentionOf<Scalar> of_self = attn_test::rules_of<Scalar>(options), of_memory;
  of_self.bias = again.variables(array_of(bias));
  of_memory.bias = again.variables(array_of(cross_bias));
  again.backward(reference::inner(
      reference::decoder_layer<Scalar>(decoding, given, from, of_self, of_memory), array_of(dy)));
  expect_close(tokens.gradient(), again.gradient(given).exact.values, "x");
  expect_close(encoded.gradient(), again.gradient(from).exact.values, "memory");
  expect_close(self.gradient(), again.gradient(of_self.bias).exact.values, "self bias");
  expect_close(cross.gradient(), again.gradient(of_memory.bias).exact.values, "cross bias");
}

TEST_P(TapedTransformerTest, StacksShareTermsAndGivePositionsToTheLayersThatRotate) {
  Random random;
  attn::TransformerLayerOptions rotating = kOptions[0], still = kOptions[0];
  rotating.positions.rotary = attn::RotaryEmbeddingOptions{};
  attn::TransformerEncoderOptions options;
  options.layers = {rotating, still};
  attn::TransformerEncoder encoder(options);
  attn::TransformerDecoder decoder(options);
  attn_test::randomize(encoder, random);
  attn_test::randomize(decoder, random);
  const std::vector<double> positions{3, 1, 4, 1, 5};
  const attn::TensorView<const double> at(positions.data(), {5});
  const OwnedTensor x = uniform_tensor({5, 8}, random), memory = uniform_tensor({3, 8}, random);
  const OwnedTensor table = uniform_tensor({4, 2}, random), dy = uniform_tensor({5, 8}, random);
  const attn::AttentionOptions attention{.t5_bias = attn::T5Bias{.table = table}};

  // Below, the layers are called one by one, each with its own variable. The gradients of these
  // variables must add up to the gradient of the shared variable.
  attn::Tape tape(context());
  const Variable shared = tape.variable(table);
  const attn::TransformerEncoderCall call{.attention = attention, .positions = at};
  const Variable y = encoder.forward(tape.variable(x), call, {.t5_table = shared});
  OwnedTensor output({5, 8});
  encoder.forward(x, output, call, context());
  EXPECT_TRUE(same_bits(values(y.value()), values(output)));
  tape.backward(y, dy);
  const std::vector<float> sum = values(shared.gradient());
  tape.clear();
  const Variable first = tape.variable(table), second = tape.variable(table);
  const Variable h = encoder.layers()[0].forward(
      tape.variable(x), {.attention = attention, .positions = at}, {.t5_table = first});
  tape.backward(encoder.layers()[1].forward(h, {.attention = attention}, {.t5_table = second}), dy);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_FLOAT_EQ(sum[i], values(first.gradient())[i] + values(second.gradient())[i]);
  }

  tape.clear();
  const attn::TransformerDecoderCall decoding{
      .self_attention = attention, .cross_attention = attention, .positions = at};
  const Variable of_self = tape.variable(table), of_memory = tape.variable(table);
  const Variable z = decoder.forward(tape.variable(x), tape.variable(memory), decoding,
                                     {.t5_table = of_self}, {.t5_table = of_memory});
  decoder.forward(x, memory, output, decoding, context());
  EXPECT_TRUE(same_bits(values(z.value()), values(output)));
  tape.backward(z, dy);
  EXPECT_EQ(values(of_self.gradient()).size(), 8U);
  EXPECT_EQ(values(of_memory.gradient()).size(), 8U);
  tape.clear();
  attn::TransformerEncoder none({.layer = still});
  EXPECT_EQ(
      attn_test::error_of([&] { none.forward(tape.variable(x), {.positions = at}); }),
      "invalid_argument: positions: got some positions, needs none; no layer has rotary positions");
}

TEST_P(TapedTransformerTest, StacksHaveTheBitsOfTheForwardPassWithDropoutToo) {
  Random random;
  const attn::Dropout dropout{.probability = 0.25F, .training = true, .random = {7, 3}};
  attn::TransformerEncoder encoder({.layer = kOptions[1], .num_layers = 2, .final_norm = true});
  attn::TransformerDecoder decoder({.layer = kOptions[0], .num_layers = 2, .final_norm = true});
  attn_test::randomize(encoder, random);
  attn_test::randomize(decoder, random);
  const OwnedTensor x = uniform_tensor({5, 12}, random), z = uniform_tensor({4, 8}, random);
  const OwnedTensor memory = uniform_tensor({6, 8}, random);
  OwnedTensor encoded({5, 12}), decoded({4, 8});
  encoder.forward(x, encoded, {.dropout = dropout}, context());
  decoder.forward(z, memory, decoded, {.dropout = dropout}, context());
  attn::Tape tape(context());
  EXPECT_TRUE(same_bits(values(encoder.forward(tape.variable(x), {.dropout = dropout}).value()),
                        values(encoded)));
  EXPECT_TRUE(same_bits(
      values(
          decoder.forward(tape.variable(z), tape.variable(memory), {.dropout = dropout}).value()),
      values(decoded)));
}

TEST_P(TapedTransformerTest, IntermediatesMatchTheForwardPass) {
  Random random;
  for (const attn::TransformerLayerOptions& options : attn_test::todays_layers()) {
    attn::TransformerEncoderLayer layer(options);
    attn_test::randomize(layer, random);
    const OwnedTensor x = uniform_tensor({2, 5, options.d_model}, random);
    const std::vector<std::string> names = layer.intermediate_names();
    attn::Intermediates shown(names);
    OwnedTensor output({2, 5, options.d_model});
    layer.forward(x, output, {.attention = {.causal = true}, .intermediates = &shown}, context());
    attn::Tape tape(context());
    tape.watch(layer, names);
    layer.forward(tape.variable(x), {.attention = {.causal = true}});
    for (const std::string& name : names) {
      EXPECT_TRUE(same_bits(values(tape.intermediate(layer, name).value()), values(shown[name])))
          << name;
    }
  }
}

TEST_P(TapedTransformerTest, GradientsAreSteady) {
  Random random;
  const attn::TransformerLayerOptions plain{
      .d_model = 32, .num_heads = 4, .dim_feedforward = 96, .norm_first = true};
  attn::TransformerLayerOptions gemma = plain;
  gemma.gated_feed_forward = true;
  gemma.rms_norm = gemma.qk_norm = attn::RmsNormOptions{.eps = 1e-6F, .zero_centred_weight = true};
  gemma.norm_outputs = true;
  gemma.num_kv_heads = 2;
  gemma.head_dim = 12;
  gemma.positions.rotary = attn::RotaryEmbeddingOptions{};
  gemma.window = attn::Window{.left = 9};
  attn::TransformerEncoder encoder({.final_norm = true, .layers = {plain, gemma}});
  attn_test::randomize(encoder, random);
  const OwnedTensor x = uniform_tensor({3, 41, 32}, random);
  const OwnedTensor dy = uniform_tensor({3, 41, 32}, random);
  const std::vector<std::string> names = encoder.parameter_names();
  attn_test::expect_steady(
      [&](int threads) -> attn::Context& { return context(threads); },
      [&](attn::Tape& tape) {
        tape.clear();
        const Variable input = tape.variable(x);
        const Variable y = encoder.forward(input, {.attention = {.causal = true}});
        tape.backward(y, dy);
        attn_test::Results results{values(y.value()), values(input.gradient())};
        for (const std::string& name : names)
          results.push_back(values(tape.gradient(encoder, name)));
        return results;
      });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    const Variable y = encoder.forward(tape.variable(x), {.attention = {.causal = true}});
    tape.backward(y, dy);
  });
}

TEST_P(TapedTransformerTest, GradientsOfAnEntryDoNotDependOnItsNeighbours) {
  Random random;
  for (const attn::TransformerLayerOptions& options : attn_test::todays_layers()) {
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    attn::TransformerEncoder encoder({.layer = options, .num_layers = 2});
    attn_test::randomize(encoder, random);
    const OwnedTensor x = uniform_tensor({3, 13, options.d_model}, random);
    const OwnedTensor dy = uniform_tensor({3, 13, options.d_model}, random);
    const auto gradient = [&](const attn::ConstTensor& part, const attn::ConstTensor& along) {
      attn::Tape tape(context());
      const Variable input = tape.variable(part);
      tape.backward(encoder.forward(input, {.attention = {.causal = true}}), along);
      return values(input.gradient());
    };
    const auto entry = [](const OwnedTensor& all, std::int64_t b) {
      return attn::ConstTensor(all).slice(0, b, b + 1);
    };
    std::vector<float> one_by_one;
    for (std::int64_t b = 0; b < 3; ++b) {
      const std::vector<float> alone = gradient(entry(x, b), entry(dy, b));
      one_by_one.insert(one_by_one.end(), alone.begin(), alone.end());
    }
    EXPECT_TRUE(same_bits(gradient(x, dy), one_by_one));
  }
}

TEST(TapedTransformerErrorTest, CachesAndOutputsAreRejected) {
  attn::TransformerEncoder encoder({.layer = kOptions[0]});
  std::vector<attn::KeyValueCache> caches = encoder.make_caches(1);
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({3, 8}));
  EXPECT_EQ(attn_test::error_of([&] { encoder.forward(x, {.caches = caches}); }),
            "invalid_argument: caches: got a value, needs none when a tape records the call");
  const Variable narrow = tape.variable(OwnedTensor({3, 7}));
  EXPECT_EQ(attn_test::error_of([&] { encoder.forward(narrow); }),
            "shape_mismatch: x: got shape (3, 7), needs shape (any, 8)");
}

TEST_P(TapedTransformerTest, AStackSharesTheT5BiasOfItsFirstLayer) {
  Random random;
  attn::TransformerEncoderOptions options{.layer = {.d_model = 8, .num_heads = 2}, .num_layers = 3};
  options.layer.dim_feedforward = 5;
  options.layer.positions.t5_bias = attn::T5BiasOptions{.num_buckets = 4, .max_distance = 3};
  // In the second stack, each layer has a table of its own with the same values.
  attn::TransformerEncoder separate(options);
  options.shared_t5_bias = true;
  attn::TransformerEncoder shared(options);
  attn_test::randomize(separate, random);
  const std::string table = ".self_attn.relative_attention_bias.weight";
  for (const char* layer : {"layers.1", "layers.2"}) {
    separate.set_parameter(layer + table, separate.parameter("layers.0" + table));
  }
  for (const std::string& name : shared.parameter_names()) {
    shared.set_parameter(name, separate.parameter(name));
  }
  const OwnedTensor x = uniform_tensor({2, 5, 8}, random), dy = uniform_tensor({2, 5, 8}, random);
  OwnedTensor want({2, 5, 8}), got({2, 5, 8});
  separate.forward(x, want, {}, context());
  shared.forward(x, got, {}, context());
  EXPECT_TRUE(same_bits(values(got), values(want)));
  attn::Tape tape(context()), other(context());
  const Variable y = shared.forward(tape.variable(x)), z = separate.forward(other.variable(x));
  EXPECT_TRUE(same_bits(values(y.value()), values(want)));
  tape.backward(y, dy);
  other.backward(z, dy);
  const std::vector<float> sum = values(tape.gradient(shared, "layers.0" + table));
  std::vector<double> expected(sum.size());
  for (const char* layer : {"layers.0", "layers.1", "layers.2"}) {
    const std::vector<float> part = values(other.gradient(separate, layer + table));
    for (std::size_t i = 0; i < part.size(); ++i) expected[i] += part[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], expected[i], 1e-5);

  attn::TransformerDecoder decoder(options);
  EXPECT_EQ(std::ranges::count_if(decoder.parameter_names(),
                                  [&](const std::string& name) { return name.ends_with(table); }),
            1);
  const auto error = [](const attn::TransformerEncoderOptions& wrong) {
    return attn_test::error_of([&] { attn::TransformerEncoder stack(wrong); });
  };
  attn::TransformerEncoderOptions wrong = options;
  wrong.layers = {options.layer, options.layer};
  wrong.num_layers = 1;
  wrong.layers[1].num_heads = 4;
  EXPECT_THAT(error(wrong), ::testing::HasSubstr("shared_t5_bias: got true, needs false, or a T5"));
  options.layer.positions.t5_bias.reset();
  EXPECT_THAT(error(options), ::testing::HasSubstr("shared_t5_bias: got true, needs false"));
}

}  // namespace
