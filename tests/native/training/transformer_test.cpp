// Encoder and decoder on a tape: the bits of the forward pass, and gradients against the analytic
// reference in double precision.

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

TEST_P(TapedTransformerTest, EverythingThatALayerShowsIsThatOfTheForwardPass) {
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

TEST(TapedTransformerErrorTest, CachesAndOutputsAreRefused) {
  attn::TransformerEncoder encoder({.layer = kOptions[0]});
  std::vector<attn::KeyValueCache> caches = encoder.make_caches(1);
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({3, 8}));
  EXPECT_EQ(attn_test::error_of([&] { encoder.forward(x, {.caches = caches}); }),
            "invalid_argument: caches: got something, needs none where variables are recorded");
  const Variable narrow = tape.variable(OwnedTensor({3, 7}));
  EXPECT_EQ(attn_test::error_of([&] { encoder.forward(narrow); }),
            "shape_mismatch: x: got shape (3, 7), needs shape (any, 8)");
}

}  // namespace
