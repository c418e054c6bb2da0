#include "attn/layers/activation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/activation.hpp"

namespace {

using attn::Activation;
using attn::apply_activation;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::LargestError;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

std::vector<float> activated(const std::vector<float>& x, Activation activation,
                             attn::Context& context) {
  std::vector<float> y(x.size(), 77.0F);
  const std::int64_t count = std::ssize(x);
  apply_activation({x.data(), {count}}, {y.data(), {count}}, activation, context);
  return y;
}

using ActivationTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(ActivationTest);

// Tests both signs and all binades from 2^-126 to 2^40 with several mantissas each, and a dense
// sample of [-15, 15].
TEST_P(ActivationTest, is_within_the_stated_error) {
  std::vector<float> x;
  for (int exponent = -126; exponent <= 40; ++exponent) {
    for (const float mantissa : {1.0F, 1.2345F, 1.7F, 1.9999999F}) {
      x.push_back(std::ldexp(mantissa, exponent));
      x.push_back(-x.back());
    }
  }
  for (float v = -15; v <= 15; v += 0.0037F) x.push_back(v);
  const std::vector<float> relu = activated(x, Activation::kRelu, context());
  const std::vector<float> gelu = activated(x, Activation::kGelu, context());
  const std::vector<float> approximated = activated(x, Activation::kGeluTanh, context());
  LargestError gelu_error("GELU, relative, x >= -1", 5e-7);
  LargestError gelu_left("GELU, relative / (1 + 0.3 x^2), x < -1", 1e-6);
  LargestError gelu_absolute("GELU / |x|", 5e-7);
  LargestError tanh_error("GELU by tanh, relative, x >= -1", 1e-6);
  LargestError tanh_left("GELU by tanh, relative / (1 + 0.3 x^2), x < -1", 1e-6);
  LargestError tanh_absolute("GELU by tanh / |x|", 5e-7);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(relu[i], x[i] < 0 ? 0 : x[i]);
    const double v = x[i];
    const auto measure = [&](float got, double want, LargestError& right, LargestError& left,
                             LargestError& absolute) {
      absolute.add((got - want) / v);
      // Where exp would be smaller than the smallest normal float, the kernel returns zero.
      if (std::abs(want) < 2e-38 * std::abs(v)) {
        EXPECT_LE(std::abs(got - want), 2e-38 * std::abs(v)) << v;
        return;
      }
      const double error = (got - want) / want;
      if (v >= -1) {
        right.add(error);
      } else {
        left.add(error / (1 + 0.3 * v * v));
      }
    };
    measure(gelu[i], reference::activate(Activation::kGelu, v), gelu_error, gelu_left,
            gelu_absolute);
    measure(approximated[i], reference::activate(Activation::kGeluTanh, v), tanh_error, tanh_left,
            tanh_absolute);
  }
}

TEST_P(ActivationTest, sigmoid_is_within_the_stated_error) {
  std::vector<float> x;
  for (int exponent = -126; exponent <= 6; ++exponent) {
    for (const float mantissa : {1.0F, 1.2345F, 1.3749999F}) {
      x.push_back(std::ldexp(mantissa, exponent));
      x.push_back(-x.back());
    }
  }
  for (float v = -30; v <= 30; v += 0.0037F) x.push_back(v);
  const std::vector<float> tanh = activated(x, Activation::kTanh, context());
  const std::vector<float> sigmoid = activated(x, Activation::kSigmoid, context());
  const std::vector<float> silu = activated(x, Activation::kSilu, context());
  LargestError tanh_error("tanh, relative", 3e-7);
  LargestError sigmoid_error("sigmoid, relative / (5 + 0.7 max(-x, 0))", 1e-7);
  LargestError silu_error("SiLU, relative / (5 + 0.7 max(-x, 0))", 1e-7);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    tanh_error.add((tanh[i] - std::tanh(v)) / std::tanh(v));
    if (v < -87) continue;  // where exp(v) is not a normal float
    const double exact = 1 / (1 + std::exp(-v));
    const double share = 5 + 0.7 * std::max(-v, 0.0);
    sigmoid_error.add((sigmoid[i] - exact) / exact / share);
    if (std::abs(v * exact) < 1.2e-38) continue;
    silu_error.add((silu[i] - v * exact) / (v * exact) / share);
  }
  EXPECT_EQ(activated({-89}, Activation::kSigmoid, context())[0], 0.0F);
  EXPECT_EQ(activated({-89}, Activation::kSilu, context())[0], 0.0F);
}

TEST_P(ActivationTest, nan_and_infinity_give_the_results_of_pytorch) {
  const std::vector<float> x{kNaN, kInfinity, -kInfinity, 0.0F, -0.0F, 3e38F, -3e38F};
  EXPECT_THAT(activated({kInfinity, -kInfinity, 0.0F}, Activation::kTanh, context()),
              ::testing::ElementsAre(1, -1, 0));
  EXPECT_THAT(activated({kInfinity, -kInfinity, 0.0F}, Activation::kSigmoid, context()),
              ::testing::ElementsAre(1, 0, 0.5F));
  for (const Activation activation : reference::kActivations) {
    const std::vector<float> y = activated(x, activation, context());
    EXPECT_TRUE(std::isnan(y[0]));
    if (activation == Activation::kTanh || activation == Activation::kSigmoid) continue;
    EXPECT_EQ(y[1], kInfinity);
    if (activation == Activation::kRelu) {
      EXPECT_EQ(y[2], 0.0F);
    } else {
      EXPECT_TRUE(std::isnan(y[2]));
    }
    EXPECT_EQ(y[3], 0.0F);
    EXPECT_EQ(y[4], 0.0F);
    EXPECT_EQ(y[5], 3e38F);
    EXPECT_EQ(y[6], 0.0F);
  }
}

TEST_P(ActivationTest, every_size_layout_and_number_of_threads_gives_the_same_bits) {
  Random random;
  const std::vector<float> x = random.normals(17 * 1031, 2);
  for (const Activation activation : reference::kActivations) {
    const std::vector<float> want = activated(x, activation, context(1));
    EXPECT_TRUE(same_bits(activated(x, activation, context(2)), want));
    for (const std::int64_t count : {1, 2, 3, 5, 15, 16, 17, 31}) {
      EXPECT_TRUE(same_bits(activated({x.begin(), x.begin() + count}, activation, context()),
                            {want.begin(), want.begin() + count}));
    }
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      const FloatTensor in({17, 1031}, x, layout);
      FloatTensor out = FloatTensor::filled({17, 1031}, 77.0F, layout);
      apply_activation(in.view(), out.view(), activation, context());
      EXPECT_TRUE(same_bits(out.values(), want));
      EXPECT_TRUE(out.gaps_are_untouched());
    }
    std::vector<float> in_place = x;
    const attn::Tensor view(in_place.data(), {17, 1031});
    apply_activation(view, view, activation, context());
    EXPECT_TRUE(same_bits(in_place, want));
  }
}

TEST(ActivationErrorTest, shapes_data_and_kind) {
  const std::vector<float> x(6, 1.0F);
  std::vector<float> y(6, 5.0F);
  EXPECT_EQ(error_of([&] {
              apply_activation({x.data(), {2, 3}}, {y.data(), {3, 2}}, Activation::kRelu);
            }),
            "shape_mismatch: output: got shape (3, 2), needs shape (2, 3)");
  EXPECT_EQ(error_of([&] { apply_activation({nullptr, {6}}, {y.data(), {6}}, Activation::kRelu); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { apply_activation({x.data(), {6}}, {nullptr, {6}}, Activation::kRelu); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] {
              apply_activation({x.data(), {6}}, {y.data(), {6}}, static_cast<Activation>(19));
            }),
            "invalid_argument: activation: got 19, needs an Activation");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_EQ(
      error_of([&] { apply_activation({nullptr, {0, 3}}, {nullptr, {0, 3}}, Activation::kGelu); }),
      "nothing");
}

}  // namespace
