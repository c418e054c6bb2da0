#include "attn/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"

namespace {

using attn::RandomStream;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::same_bits;
using ::testing::ElementsAre;
using ::testing::StartsWith;

// ---- The generator

// The expected numbers are from the known-answer tests of the authors' own library, Random123
// (tests/kat_vectors).
TEST(Philox4x32Test, gives_the_published_answers) {
  EXPECT_THAT(attn::philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(attn::philox4x32({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU},
                               {0xffffffffU, 0xffffffffU}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(attn::philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U},
                               {0xa4093822U, 0x299f31d0U}),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(RandomStreamTest, counts_blocks_in_a_stream_under_a_seed) {
  const RandomStream random{0x299f31d0a4093822U, 0x0370734413198a2eU};
  EXPECT_THAT(random.words(0x85a308d3243f6a88U),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

std::uint32_t word_of(const RandomStream& random, std::size_t i) {
  return random.words(i / 4)[i % 4];
}

class RandomFillTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> uniform(std::int64_t count, const RandomStream& random, float low = 0,
                             float high = 1, int threads = 1) {
    std::vector<float> output(static_cast<std::size_t>(count), 7.0F);
    attn::fill_uniform({output.data(), {count}}, random, low, high, context(threads));
    return output;
  }

  std::vector<float> normal(std::int64_t count, const RandomStream& random, float mean = 0,
                            float deviation = 1, int threads = 1) {
    std::vector<float> output(static_cast<std::size_t>(count), 7.0F);
    attn::fill_normal({output.data(), {count}}, random, mean, deviation, context(threads));
    return output;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(RandomFillTest);

// ---- Uniform numbers

TEST_P(RandomFillTest, uniform_numbers_come_from_the_words_of_the_stream) {
  const RandomStream random{0xfedcba9876543210U, 0x0123456789abcdefU};
  const std::vector<float> values = uniform(1003, random, -3, 5);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = -3 + 8.0 * ((word_of(random, i) >> 8) / 16777216.0);
    ASSERT_EQ(values[i], static_cast<float>(exact)) << i;
  }
}

TEST_P(RandomFillTest, uniform_numbers_are_evenly_distributed_in_their_range) {
  const std::vector<float> values = uniform(100000, {42, 0});
  EXPECT_GE(*std::ranges::min_element(values), 0.0F);
  EXPECT_LT(*std::ranges::max_element(values), 1.0F);
  std::array<int, 16> bins{};
  for (const float value : values) ++bins[static_cast<std::size_t>(value * 16)];
  // With 15 degrees of freedom, χ² exceeds 44.3 for one seed in 10,000. The seed here is fixed.
  double chi_squared = 0;
  for (const int count : bins) chi_squared += (count - 6250.0) * (count - 6250.0) / 6250.0;
  EXPECT_LT(chi_squared, 44.3);
}

TEST_P(RandomFillTest, an_empty_range_gives_its_only_number) {
  EXPECT_THAT(uniform(9, {1, 2}, 0.5F, 0.5F), ::testing::Each(0.5F));
}

// ---- Normal numbers

TEST_P(RandomFillTest, normal_numbers_follow_box_and_muller) {
  const RandomStream random{7, 9};
  const std::vector<float> values = normal(2002, random, 0.5F, 3);
  reference::Array exact({2002});
  reference::Array error({2002});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto words = random.words(i / 4);
    const std::size_t pair = i % 4 / 2 * 2;
    const long double radius = std::sqrt(-2 * std::log((words[pair] + 0.5L) * 0x1p-32L));
    const long double angle = 2 * std::numbers::pi_v<long double> * words[pair + 1] * 0x1p-32L;
    exact.values[i] =
        static_cast<double>(0.5L + 3 * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
    // Allows half a unit in the last place of the float, plus the error of the core's series.
    error.values[i] = 6e-8 * std::abs(exact.values[i]) + 3 * 7 * 1e-11;
  }
  EXPECT_TRUE(is_within(values, exact, error));
}

TEST_P(RandomFillTest, normal_numbers_have_the_moments_of_the_normal_distribution) {
  constexpr int kCount = 200000;
  const std::vector<float> values = normal(kCount, {123, 0});
  double sums[5] = {};
  double furthest = 0;
  for (const float value : values) {
    furthest = std::max(furthest, std::abs(double{value}));
    double power = 1;
    for (double& sum : sums) {
      sum += power / kCount;
      power *= value;
    }
  }
  // Each moment may be off by four standard errors, 4 · √(Var(x^k) / n).
  const double unit = 4 / std::sqrt(double{kCount});
  EXPECT_NEAR(sums[1], 0, unit);
  EXPECT_NEAR(sums[2], 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(sums[3], 0, unit * std::sqrt(15.0));
  EXPECT_NEAR(sums[4], 3, unit * std::sqrt(96.0));
  EXPECT_LT(furthest, 6.77);
}

TEST_P(RandomFillTest, deviation_0_gives_the_mean) {
  EXPECT_THAT(normal(9, {1, 2}, 2.5F, 0), ::testing::Each(2.5F));
}

// ---- Order and exact bits of the numbers

// The numbers are part of the contract: a seed gives the same weights on every machine, forever.
TEST_P(RandomFillTest, the_same_seed_gives_the_same_bits_on_every_machine) {
  EXPECT_THAT(uniform(5, {2017, 6}),
              ElementsAre(0.797056496F, 0.765449405F, 0.187008202F, 0.357576907F, 0.212967217F));
  EXPECT_THAT(normal(5, {2017, 6}),
              ElementsAre(0.0652792379F, -0.670371532F, -1.14561987F, 1.42855179F, 1.57011926F));
}

TEST_P(RandomFillTest, seeds_and_streams_give_unrelated_numbers) {
  const std::vector<float> a = normal(20000, {1, 1});
  for (const RandomStream& other :
       {RandomStream{2, 1}, RandomStream{1, 2}, RandomStream{1, 1ULL << 32 | 1},
        RandomStream{1ULL << 32 | 1, 1}}) {
    const std::vector<float> b = normal(20000, other);
    double product = 0;
    for (std::size_t i = 0; i < a.size(); ++i) product += double{a[i]} * b[i];
    EXPECT_LT(std::abs(product / 20000), 5 / std::sqrt(20000.0));
  }
}

TEST_P(RandomFillTest, any_number_of_threads_gives_the_same_bits) {
  const RandomStream random{5, 6};
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(uniform(50001, random), uniform(50001, random, 0, 1, threads)));
    EXPECT_TRUE(same_bits(normal(50001, random), normal(50001, random, 0, 1, threads)));
  }
}

TEST_P(RandomFillTest, shape_and_strides_do_not_change_the_order) {
  const RandomStream random{5, 6};
  const std::vector<float> flat = uniform(3 * 7 * 601, random);
  const std::vector<float> flat_normal = normal(3 * 7 * 601, random);
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    auto output = FloatTensor::filled({3, 7, 601}, 7.0F, layout);
    attn::fill_uniform(output.view(), random, 0, 1, context());
    EXPECT_TRUE(same_bits(flat, output.values()));
    attn::fill_normal(output.view(), random, 0, 1, context());
    EXPECT_TRUE(same_bits(flat_normal, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

TEST_P(RandomFillTest, empty_and_scalar_outputs_are_filled) {
  attn::fill_uniform({nullptr, {3, 0, 4}}, {}, 0, 1, context());
  attn::fill_normal({nullptr, {0}}, {}, 0, 1, context());
  float value = 7;
  attn::fill_uniform({&value, std::initializer_list<std::int64_t>{}}, {3, 4}, 0, 1, context());
  EXPECT_EQ(value, uniform(1, {3, 4})[0]);
}

// ---- Errors

TEST(RandomFillErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(8, 7.0F);
  const attn::Tensor output(memory.data(), {8});
  EXPECT_THAT(error_of([&] { attn::fill_uniform(output, {}, 2, 1); }),
              StartsWith("invalid_argument: low: got 2"));
  EXPECT_THAT(error_of([&] { attn::fill_uniform(output, {}, 0, HUGE_VALF); }),
              StartsWith("invalid_argument: high: got inf"));
  EXPECT_THAT(error_of([&] { attn::fill_normal(output, {}, std::nanf("")); }),
              StartsWith("invalid_argument: mean: got nan"));
  EXPECT_THAT(error_of([&] { attn::fill_normal(output, {}, 0, -1); }),
              StartsWith("invalid_argument: deviation: got -1"));
  EXPECT_EQ(error_of([] { attn::fill_uniform({nullptr, {3}}, {}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
