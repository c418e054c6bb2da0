#include "attn/layers/initialization.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"

namespace {

using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::same_bits;
using ::testing::StartsWith;

class InitializationTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> xavier(std::int64_t fan_out, std::int64_t fan_in,
                            const attn::RandomStream& random, float gain = 1) {
    std::vector<float> weight(static_cast<std::size_t>(fan_out * fan_in), 7.0F);
    attn::xavier_uniform({weight.data(), {fan_out, fan_in}}, random, gain, context());
    return weight;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(InitializationTest);

TEST_P(InitializationTest, xavier_weights_lie_within_their_bound_and_reach_it) {
  const std::vector<float> weight = xavier(200, 100, {1, 2});
  const float bound = std::sqrt(6.0F / 300);
  const auto [low, high] = std::ranges::minmax_element(weight);
  EXPECT_GE(*low, -bound);
  EXPECT_LT(*high, bound);
  EXPECT_LT(*low, -0.99F * bound);
  EXPECT_GT(*high, 0.99F * bound);
}

TEST_P(InitializationTest, xavier_weights_have_mean_0_and_variance_2_over_the_fans) {
  constexpr double kCount = 300 * 500;
  const std::vector<float> weight = xavier(300, 500, {7, 0});
  double mean = 0;
  double variance = 0;
  for (const float w : weight) {
    mean += w / kCount;
    variance += double{w} * w / kCount;
  }
  const double expected = 2.0 / (300 + 500);
  EXPECT_NEAR(mean, 0, 4 * std::sqrt(expected / kCount));
  // For a uniform distribution with mean 0, Var(w²) = 4/5 · Var(w)².
  EXPECT_NEAR(variance, expected, 4 * expected * std::sqrt(0.8 / kCount));
}

TEST_P(InitializationTest, gain_scales_the_bound) {
  const std::vector<float> one = xavier(6, 6, {7, 0});
  const std::vector<float> two = xavier(6, 6, {7, 0}, 2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_FLOAT_EQ(two[i], 2 * one[i]);
}

TEST_P(InitializationTest, any_strides_get_the_same_weights) {
  const std::vector<float> contiguous = xavier(70, 130, {7, 3});
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    auto weight = FloatTensor::filled({70, 130}, 7.0F, layout);
    attn::xavier_uniform(weight.view(), {7, 3}, 1, context());
    EXPECT_TRUE(same_bits(contiguous, weight.values()));
    EXPECT_TRUE(weight.gaps_are_untouched());
  }
}

TEST(InitializationErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(8, 7.0F);
  EXPECT_EQ(error_of([&] { attn::xavier_uniform({memory.data(), {8}}, {}); }),
            "shape_mismatch: weight: got shape (8), needs shape (any, any)");
  EXPECT_THAT(error_of([&] { attn::xavier_uniform({memory.data(), {0, 4}}, {}); }),
              StartsWith("invalid_argument: weight: got shape (0, 4), needs sizes of at least 1"));
  EXPECT_THAT(error_of([&] { attn::xavier_uniform({memory.data(), {4, 0}}, {}); }),
              StartsWith("invalid_argument: weight: got shape (4, 0), needs sizes of at least 1"));
  EXPECT_THAT(error_of([&] { attn::xavier_uniform({memory.data(), {2, 4}}, {}, -1); }),
              StartsWith("invalid_argument: gain: got -1"));
  EXPECT_EQ(error_of([] { attn::xavier_uniform({nullptr, {2, 4}}, {}); }),
            "invalid_argument: weight: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
