// Compares feed-forward networks on a tape with their equations in double precision.

#include "attn/layers/feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "attn/layers/add_norm.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/scalar.hpp"
#include "training/close.hpp"
#include "training/gradients.hpp"

namespace {

using attn::AddNorm;
using attn::Dropout;
using attn::FeedForward;
using attn::GatedFeedForward;
using attn::Variable;
using attn_test::array_of;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::values;
using reference::Array;
using reference::ArrayOf;
using reference::Scalar;

const Dropout kDropout{.probability = 0.25F, .training = true, .random = {5, 6}};

void draw(attn::Module& layer, Random& random) {
  for (const std::string& name : layer.parameter_names()) {
    const std::vector<float> before = values(layer.parameter(name));
    const std::vector<float> drawn = random.normals(std::ssize(before), 0.5F);
    layer.set_parameter(name, {drawn.data(), layer.parameter(name).shape()});
  }
}

/// Compares the gradients of the layer's forward(x) with the gradients of reference(x, parameters
/// by name) on the reference's tape. x and the output are both (2, 9, width).
template <class Forward, class Reference>
void expect_gradients(const attn::Module& layer, std::int64_t width, Random& random,
                      attn::Context& context, Forward&& forward, Reference&& reference) {
  const std::vector<float> x = random.normals(2 * 9 * width), dy = random.normals(2 * 9 * width);
  attn::Tape tape(context);
  const Variable in = tape.variable({x.data(), {2, 9, width}});
  const Variable out = forward(in);
  tape.backward(out, {dy.data(), {2, 9, width}});

  reference::Tape exact;
  const ArrayOf<Scalar> exact_in = exact.variables(Array({2, 9, width}, x));
  std::map<std::string, ArrayOf<Scalar>> parameters;
  for (const std::string& name : layer.parameter_names()) {
    parameters[name] = exact.variables(array_of(layer.parameter(name)));
  }
  exact.backward(reference::inner(reference(exact_in, parameters), Array({2, 9, width}, dy)));
  const auto compare = [&](const std::string& name, const attn::ConstTensor& got,
                           const ArrayOf<Scalar>& of) {
    const reference::Bounded want = exact.gradient(of);
    EXPECT_TRUE(is_within(values(got), want.exact, want.error)) << name;
  };
  compare("x", in.gradient(), exact_in);
  for (const auto& [name, parameter] : parameters) {
    compare(name, tape.gradient(layer, name), parameter);
  }
}

using FeedForwardGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(FeedForwardGradientTest);

TEST_P(FeedForwardGradientTest, gradients_match_the_reference) {
  Random random;
  for (const bool bias : {true, false}) {
    FeedForward layer(
        {.d_model = 7, .dim_feedforward = 19, .activation = attn::Activation::kGelu, .bias = bias});
    draw(layer, random);
    expect_gradients(
        layer, 7, random, context(), [&](const Variable& x) { return layer.forward(x); },
        [&](const ArrayOf<Scalar>& x, std::map<std::string, ArrayOf<Scalar>>& p) {
          reference::FeedForwardOf<Scalar> f{
              attn::Activation::kGelu, p["linear1.weight"], {}, p["linear2.weight"], {}};
          if (bias) {
            f.bias1 = p["linear1.bias"];
            f.bias2 = p["linear2.bias"];
          }
          return reference::feed_forward(f, x);
        });
  }
}

TEST_P(FeedForwardGradientTest, of_gated_networks_too) {
  Random random;
  for (const attn::Activation activation : reference::kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    GatedFeedForward layer({.d_model = 7, .dim_feedforward = 19, .activation = activation});
    draw(layer, random);
    expect_gradients(
        layer, 7, random, context(), [&](const Variable& x) { return layer.forward(x); },
        [&](const ArrayOf<Scalar>& x, std::map<std::string, ArrayOf<Scalar>>& p) {
          return reference::gated_feed_forward(
              reference::GatedFeedForwardOf<Scalar>{activation, p["gate_proj.weight"],
                                                    p["up_proj.weight"], p["down_proj.weight"]},
              x);
        });
  }
}

TEST_P(FeedForwardGradientTest, a_residual_connection_adds_both_ways) {
  Random random;
  AddNorm layer(11);
  draw(layer, random);
  expect_gradients(
      layer, 11, random, context(), [&](const Variable& x) { return layer.forward(x, x); },
      [&](const ArrayOf<Scalar>& x, std::map<std::string, ArrayOf<Scalar>>& p) {
        ArrayOf<Scalar> sum = x;
        for (Scalar& value : sum.values) value = value + value;
        return reference::layer_norm(sum, p["ln.weight"], p["ln.bias"], 1e-5F);
      });
}

TEST_P(FeedForwardGradientTest, values_have_the_bits_of_the_tensor_forward) {
  Random random;
  FeedForward layer({.d_model = 7,
                     .dim_feedforward = 19,
                     .out_features = 5,
                     .activation = attn::Activation::kSilu});
  GatedFeedForward gated({.d_model = 7, .dim_feedforward = 19});
  AddNorm norm(7);
  draw(layer, random);
  draw(gated, random);
  draw(norm, random);
  const std::vector<float> x = random.normals(2 * 9 * 7), other = random.normals(2 * 9 * 7);
  std::vector<float> y(2 * 9 * 5), sum(x.size());
  attn::Tape tape(context());
  const Variable in = tape.variable({x.data(), {2, 9, 7}});
  const Variable more = tape.variable({other.data(), {2, 9, 7}});
  layer.forward(in.value(), {y.data(), {2, 9, 5}}, kDropout, context());
  EXPECT_TRUE(same_bits(values(layer.forward(in, kDropout).value()), y));
  gated.forward(in.value(), {sum.data(), {2, 9, 7}}, kDropout, context());
  EXPECT_TRUE(same_bits(values(gated.forward(in, kDropout).value()), sum));
  norm.forward(in.value(), more.value(), {sum.data(), {2, 9, 7}}, kDropout, context());
  EXPECT_TRUE(same_bits(values(norm.forward(in, more, kDropout).value()), sum));
}

TEST_P(FeedForwardGradientTest, the_sum_of_add_norm_can_be_watched) {
  Random random;
  AddNorm layer(7);
  draw(layer, random);
  const std::vector<float> x = random.normals(5 * 7), dy = random.normals(5 * 7);
  attn::Tape tape(context());
  const std::vector<std::string> names = layer.intermediate_names();
  tape.watch(layer, names);
  const Variable in = tape.variable({x.data(), {5, 7}});
  const Variable y = layer.forward(in, tape.constant({dy.data(), {5, 7}}));
  tape.backward(y, {dy.data(), {5, 7}});
  const Variable sum = tape.intermediate(layer, "sum");
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t c = 0; c < 7; ++c) {
      const auto at = static_cast<std::size_t>(i * 7 + c);
      EXPECT_EQ(sum.value()(i, c), x[at] + dy[at]);
    }
  }
  EXPECT_TRUE(same_bits(values(sum.gradient()), values(in.gradient())));
  EXPECT_TRUE(same_bits(values(tape.intermediate(layer, "ln.output").value()), values(y.value())));
  EXPECT_TRUE(same_bits(values(tape.intermediate(layer, "ln.output").gradient()), dy));
}

TEST_P(FeedForwardGradientTest, bits_and_memory_are_steady) {
  Random random;
  FeedForward layer({.d_model = 24, .dim_feedforward = 96});
  GatedFeedForward gated({.d_model = 24, .dim_feedforward = 64});
  AddNorm norm(24);
  draw(layer, random);
  draw(gated, random);
  draw(norm, random);
  const std::vector<float> x = random.normals(4 * 70 * 24), dy = random.normals(4 * 70 * 24);
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    const Variable in = tape.variable({x.data(), {4, 70, 24}});
    const Variable y = gated.forward(layer.forward(in, kDropout), kDropout);
    tape.backward(norm.forward(in, y, kDropout), {dy.data(), {4, 70, 24}});
    return in;
  };
  attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                           [&](attn::Tape& tape) -> Results {
                             const Variable in = pass(tape);
                             return {values(in.gradient()),
                                     values(tape.gradient(layer, "linear1.weight")),
                                     values(tape.gradient(layer, "linear2.bias")),
                                     values(tape.gradient(gated, "gate_proj.weight")),
                                     values(tape.gradient(gated, "up_proj.weight")),
                                     values(tape.gradient(norm, "ln.weight"))};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) { pass(tape); });
}

TEST(FeedForwardGradientErrorTest, names_come_from_the_layer) {
  attn::Tape tape;
  const std::vector<float> values(12, 1.0F);
  const Variable x = tape.variable({values.data(), {3, 4}});
  const FeedForward layer({.d_model = 3, .dim_feedforward = 2});
  EXPECT_EQ(error_of([&] { layer.forward(x); }),
            "shape_mismatch: x: got shape (3, 4), needs shape (any, 3)");
  EXPECT_THAT(error_of([&] { layer.forward(x, {.probability = -1}); }),
              ::testing::StartsWith("shape_mismatch: x"));
  const AddNorm norm(4);
  EXPECT_EQ(error_of([&] { norm.forward(x, tape.variable({values.data(), {4, 3}})); }),
            "shape_mismatch: y: got shape (4, 3), needs shape (3, 4)");
  EXPECT_THAT(error_of([&] { norm.forward(x, x, {.probability = -1}); }),
              ::testing::StartsWith("invalid_argument: dropout: got -1"));
}

}  // namespace
