#include "attn/layers/dropout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn::Dropout;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::StartsWith;

class DropoutTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> drop(const std::vector<float>& x, const Dropout& dropout, int threads = 1) {
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<float> output(x.size(), 7.0F);
    attn::apply_dropout({x.data(), {count}}, {output.data(), {count}}, dropout, context(threads));
    return output;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(DropoutTest);

TEST_P(DropoutTest, without_training_nothing_changes) {
  Random random;
  const std::vector<float> x = random.normals(1000);
  EXPECT_TRUE(same_bits(x, drop(x, {.probability = 0.5F, .training = false})));
  EXPECT_TRUE(same_bits(x, drop(x, {.probability = 0, .training = true})));
  EXPECT_TRUE(same_bits(x, drop(x, {})));
}

TEST_P(DropoutTest, drops_the_elements_that_the_random_words_select_and_scales_the_rest) {
  Random random;
  const std::vector<float> x = random.normals(1003);
  for (const float p : {0.1F, 0.5F, 0.9F, 1.0F}) {
    const Dropout dropout{.probability = p, .training = true, .random = {11, 12}};
    const std::vector<float> y = drop(x, dropout);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint32_t word = dropout.random.words(i / 4)[i % 4];
      const bool dropped = (word >> 8) / 16777216.0 < double{p};
      ASSERT_EQ(y[i], dropped ? 0.0F : x[i] * (1 / (1 - p))) << i << ", p " << p;
    }
  }
}

TEST_P(DropoutTest, drops_about_the_requested_share) {
  const std::vector<float> ones(100000, 1.0F);
  const std::vector<float> y =
      drop(ones, {.probability = 0.3F, .training = true, .random = {3, 4}});
  const auto dropped = static_cast<double>(std::ranges::count(y, 0.0F));
  EXPECT_NEAR(dropped / 100000, 0.3, 4 * std::sqrt(0.3 * 0.7 / 100000));
}

TEST_P(DropoutTest, a_dropped_nan_or_infinity_becomes_0) {
  const std::vector<float> x{std::nanf(""), std::numeric_limits<float>::infinity(), 1.0F};
  EXPECT_THAT(drop(x, {.probability = 1, .training = true}), ::testing::Each(0.0F));
}

TEST_P(DropoutTest, any_number_of_threads_drops_the_same) {
  const std::vector<float> ones(50001, 1.0F);
  const Dropout dropout{.probability = 0.5F, .training = true, .random = {3, 4}};
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(drop(ones, dropout), drop(ones, dropout, threads)));
  }
}

TEST_P(DropoutTest, shape_and_strides_do_not_change_what_is_dropped) {
  Random random;
  const std::vector<float> x = random.normals(3 * 7 * 601);
  for (const bool training : {true, false}) {
    const Dropout dropout{.probability = 0.5F, .training = training, .random = {3, 4}};
    const std::vector<float> flat = drop(x, dropout);
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      FloatTensor input({3, 7, 601}, x, layout);
      auto output = FloatTensor::filled({3, 7, 601}, 7.0F, layout);
      attn::apply_dropout(input.view(), output.view(), dropout, context());
      EXPECT_TRUE(same_bits(flat, output.values()));
      EXPECT_TRUE(output.gaps_are_untouched());
      attn::apply_dropout(input.view(), input.view(), dropout, context());
      EXPECT_TRUE(same_bits(flat, input.values())) << "in place";
    }
  }
}

TEST(DropoutErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(8, 7.0F);
  const auto drop = [&](float probability, bool training) {
    return error_of([&] {
      attn::apply_dropout({memory.data(), {4}}, {memory.data() + 4, {4}},
                          {.probability = probability, .training = training});
    });
  };
  for (const float p : {-0.1F, 1.1F, std::nanf("")}) {
    EXPECT_THAT(drop(p, true), StartsWith("invalid_argument: dropout: got"));
    EXPECT_THAT(drop(p, false), StartsWith("invalid_argument: dropout: got"));
  }
  EXPECT_EQ(
      error_of([&] { attn::apply_dropout({memory.data(), {4}}, {memory.data(), {2, 2}}, {}); }),
      "shape_mismatch: output: got shape (2, 2), needs shape (4)");
  EXPECT_EQ(error_of([&] { attn::apply_dropout({nullptr, {4}}, {memory.data(), {4}}, {}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
