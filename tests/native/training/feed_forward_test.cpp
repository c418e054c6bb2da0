// Feed-forward networks on a tape, against their equations in double precision.

#include "attn/layers/feed_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attn/layers/add_norm.hpp"
#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "training/gradients.hpp"

namespace {

using attn::AddNorm;
using attn::Dropout;
using attn::FeedForward;
using attn::Variable;
using attn_test::elements;
using attn_test::error_of;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;

const Dropout kDropout{.probability = 0.25F, .training = true, .random = {5, 6}};

void draw(attn::Module& layer, Random& random) {
  for (const std::string& name : layer.parameter_names()) {
    const attn::ConstTensor values = layer.parameter(name);
    std::int64_t count = 1;
    for (const std::int64_t size : values.shape()) count *= size;
    layer.set_parameter(name, {random.normals(count, 0.5F).data(), values.shape()});
  }
}

using FeedForwardGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(FeedForwardGradientTest);

TEST_P(FeedForwardGradientTest, values_have_the_bits_of_the_tensor_forward) {
  Random random;
  FeedForward layer({.d_model = 7,
                     .dim_feedforward = 19,
                     .out_features = 5,
                     .activation = attn::Activation::kSilu});
  AddNorm norm(7);
  draw(layer, random);
  draw(norm, random);
  const std::vector<float> x = random.normals(2 * 9 * 7), other = random.normals(2 * 9 * 7);
  std::vector<float> y(2 * 9 * 5), sum(x.size());
  attn::Tape tape(context());
  const Variable in = tape.variable({x.data(), {2, 9, 7}});
  const Variable more = tape.variable({other.data(), {2, 9, 7}});
  layer.forward(in.value(), {y.data(), {2, 9, 5}}, kDropout, context());
  EXPECT_TRUE(same_bits(elements(layer.forward(in, kDropout).value()), y));
  norm.forward(in.value(), more.value(), {sum.data(), {2, 9, 7}}, kDropout, context());
  EXPECT_TRUE(same_bits(elements(norm.forward(in, more, kDropout).value()), sum));
}

TEST_P(FeedForwardGradientTest, bits_and_memory_are_steady) {
  Random random;
  FeedForward layer({.d_model = 24, .dim_feedforward = 96});
  AddNorm norm(24);
  draw(layer, random);
  draw(norm, random);
  const std::vector<float> x = random.normals(4 * 70 * 24), dy = random.normals(4 * 70 * 24);
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    const Variable in = tape.variable({x.data(), {4, 70, 24}});
    tape.backward(norm.forward(in, layer.forward(in, kDropout), kDropout),
                  {dy.data(), {4, 70, 24}});
    return in;
  };
  attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                           [&](attn::Tape& tape) -> Results {
                             const Variable in = pass(tape);
                             return {elements(in.gradient()),
                                     elements(tape.gradient(layer, "linear1.weight")),
                                     elements(tape.gradient(layer, "linear2.bias")),
                                     elements(tape.gradient(norm, "ln.weight"))};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) { pass(tape); });
}

TEST(FeedForwardGradientErrorTest, names_are_those_of_the_layer) {
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
