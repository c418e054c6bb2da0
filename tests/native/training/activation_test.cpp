// Tests the gradients of activations and of dropout.

#include "attn/layers/activation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/scalar.hpp"
#include "training/gradients.hpp"

namespace {

using attn::Activation;
using attn::Dropout;
using attn::Variable;
using attn_test::error_of;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::values;

/// The exact slopes f'(x_i).
std::vector<double> slopes(Activation activation, const std::vector<float>& x) {
  reference::Tape tape;
  const auto variables = tape.variables(reference::Array({std::ssize(x)}, x));
  reference::Scalar sum = 0;
  for (const reference::Scalar& v : variables.values) sum += reference::activate(activation, v);
  tape.backward(sum);
  return tape.gradient(variables).exact.values;
}

Results pass(Activation activation, attn::Tape& tape, const std::vector<float>& x,
             const std::vector<float>& dy) {
  tape.clear();
  const Variable in = tape.variable({x.data(), {std::ssize(x)}});
  const Variable out = attn::apply_activation(in, activation);
  tape.backward(out, {dy.data(), {std::ssize(x)}});
  return {values(out.value()), values(in.gradient())};
}

using ActivationGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(ActivationGradientTest);

TEST_P(ActivationGradientTest, is_within_the_stated_error) {
  std::vector<float> x;
  for (int exponent = -126; exponent <= 60; ++exponent) {
    for (const float mantissa : {1.0F, 1.2345F, 1.7F, 1.9999999F}) {
      x.push_back(std::ldexp(mantissa, exponent));
      x.push_back(-x.back());
    }
  }
  for (float v = -16; v <= 16; v += 0.0037F) x.push_back(v);
  std::vector<float> dy(x.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = i % 2 == 0 ? 1.0F : -3.0F;
  attn::Tape tape(context());
  for (const Activation activation : reference::kActivations) {
    const std::vector<float> dx = pass(activation, tape, x, dy)[1];
    const std::vector<double> exact = slopes(activation, x);
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double off = std::abs(dx[i] / static_cast<double>(dy[i]) - exact[i]);
      if (activation == Activation::kRelu) {
        EXPECT_EQ(off, 0) << x[i];
      }
      largest = std::max(largest, off);
    }
    EXPECT_LE(largest, 1e-6) << static_cast<int>(activation);
  }
}

TEST_P(ActivationGradientTest, has_its_limits_at_infinity) {
  const std::vector<float> x{kInfinity, -kInfinity, 3e38F, -3e38F, kNaN};
  attn::Tape tape(context());
  for (const Activation activation : reference::kActivations) {
    const std::vector<float> dx = pass(activation, tape, x, std::vector<float>(5, 1.0F))[1];
    const bool bounded = activation == Activation::kTanh || activation == Activation::kSigmoid;
    EXPECT_EQ(dx[0], bounded ? 0.0F : 1.0F) << static_cast<int>(activation);
    EXPECT_EQ(dx[1], 0.0F);
    EXPECT_EQ(dx[2], bounded ? 0.0F : 1.0F);
    EXPECT_EQ(dx[3], 0.0F);
    // As in PyTorch, ReLU passes the gradient on if x is NaN.
    EXPECT_TRUE(activation == Activation::kRelu ? dx[4] == 1.0F : std::isnan(dx[4]));
  }
}

TEST_P(ActivationGradientTest, relu_passes_no_gradient_where_it_is_0) {
  attn::Tape tape(context());
  const std::vector<float> dx =
      pass(Activation::kRelu, tape, {-1, 0, -0.0F, 2}, {kInfinity, kNaN, kNaN, 5})[1];
  EXPECT_THAT(dx, ::testing::ElementsAre(0, 0, 0, 5));
}

TEST_P(ActivationGradientTest, bits_and_memory_are_steady) {
  Random random;
  const std::vector<float> x = random.normals(30'011, 2), dy = random.normals(30'011);
  for (const Activation activation : reference::kActivations) {
    attn::Tape tape(context());
    const Results all = pass(activation, tape, x, dy);
    std::vector<float> y(x.size());
    attn::apply_activation({x.data(), {std::ssize(x)}}, {y.data(), {std::ssize(x)}}, activation,
                           context());
    EXPECT_TRUE(same_bits(all[0], y));
    for (const std::ptrdiff_t count : {1, 2, 3, 5, 15, 16, 17, 31}) {
      const std::vector<float> few = pass(activation, tape, {x.begin(), x.begin() + count},
                                          {dy.begin(), dy.begin() + count})[1];
      EXPECT_TRUE(same_bits(few, {all[1].begin(), all[1].begin() + count}));
    }
    attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                             [&](attn::Tape& t) { return pass(activation, t, x, dy); });
  }
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    Variable y = tape.variable({x.data(), {30'011}});
    for (const Activation activation : reference::kActivations)
      y = attn::apply_activation(y, activation);
    tape.backward(y, {dy.data(), {30'011}});
  });
}

TEST(ActivationGradientErrorTest, unknown_functions_and_none) {
  attn::Tape tape;
  const float x = 1;
  EXPECT_EQ(error_of([&] {
              attn::apply_activation(tape.variable({&x, {1}}), static_cast<Activation>(77));
            }),
            "invalid_argument: activation: got 77, needs an Activation");
  EXPECT_THAT(error_of([&] { attn::apply_activation(Variable(), Activation::kGelu); }),
              ::testing::StartsWith("invalid_argument: "));
}

using DropoutGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(DropoutGradientTest);

TEST_P(DropoutGradientTest, flows_only_to_kept_elements) {
  Random random;
  std::vector<float> x = random.normals(5003), dy = random.normals(5003);
  for (const float p : {0.1F, 0.5F, 1.0F}) {
    const Dropout dropout{.probability = p, .training = true, .random = {11, 12}};
    const auto pass = [&](attn::Tape& tape) -> Results {
      tape.clear();
      const Variable in = tape.variable({x.data(), {5003}});
      const Variable out = attn::apply_dropout(in, dropout);
      tape.backward(out, {dy.data(), {5003}});
      return {values(out.value()), values(in.gradient())};
    };
    std::vector<float> y(x.size()), dx(x.size());
    attn::apply_dropout({x.data(), {5003}}, {y.data(), {5003}}, dropout, context());
    attn::apply_dropout({dy.data(), {5003}}, {dx.data(), {5003}}, dropout, context());
    attn::Tape tape(context());
    const Results got = pass(tape);
    EXPECT_TRUE(same_bits(got[0], y));
    EXPECT_TRUE(same_bits(got[1], dx));
    attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); }, pass);
  }
}

TEST_P(DropoutGradientTest, without_training_it_is_the_variable_itself) {
  const float x = 3;
  attn::Tape tape(context());
  const Variable in = tape.variable({&x, {1}});
  EXPECT_EQ(attn::apply_dropout(in, {.probability = 0.5F}).value().data(), in.value().data());
  EXPECT_EQ(error_of([&] { attn::apply_dropout(in, {.probability = 1.5F}); }),
            "invalid_argument: dropout: got 1.5, needs a probability between 0 and 1");
}

}  // namespace
