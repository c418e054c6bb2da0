// Tests the exponential of the kernels through attention weights. With q = 1 and keys of width 1,
// the keys are the scores, and the weights are exp(score − max) divided by their sum.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "every_instruction_set.hpp"
#include "measure.hpp"

namespace {

class Exp2NonpositiveTest : public attn_test::EveryInstructionSet {
 protected:
  static constexpr std::int64_t kKeys = 256;  // one block
  static constexpr double kStated = 1.2e-7;

  /// The attention weights for `scores`; the largest score must be 0.
  std::vector<float> weights_of(const std::vector<float>& scores) const {
    const auto rows = static_cast<std::int64_t>(scores.size()) / kKeys;
    const float query = 1.0F;
    const std::vector<float> value(scores.size());
    std::vector<float> output(static_cast<std::size_t>(rows)), weights(scores.size());
    const std::vector<std::int64_t> strides{0, 0, 0};
    attn::AttentionOptions options;
    options.weights = {weights.data(), {rows, 1, 1, kKeys}};
    attn::scaled_dot_product_attention(
        {&query, std::vector<std::int64_t>{rows, 1, 1}, strides}, {scores.data(), {rows, kKeys, 1}},
        {value.data(), {rows, kKeys, 1}}, {output.data(), {rows, 1, 1}}, options, context());
    return weights;
  }

  /// Calls check(score, weight, weight of a score of 0) for every `step`-th float from `from` down
  /// to `to`. Both are negative.
  template <class F>
  void for_each_float(float from, float to, std::uint32_t step, F&& check) const {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(from);
    const std::uint32_t end = std::bit_cast<std::uint32_t>(to);
    while (bits < end) {
      std::vector<float> scores;
      scores.reserve(64 * kKeys);
      while (scores.size() < 64 * kKeys) {
        if (scores.size() % kKeys == 0) {
          scores.push_back(0.0F);  // the maximum of its row
        } else {
          scores.push_back(std::bit_cast<float>(bits));
          bits = std::min(bits + step, end);
        }
      }
      const std::vector<float> weights = weights_of(scores);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (i % kKeys != 0) check(scores[i], weights[i], weights[i - i % kKeys]);
      }
    }
  }

  /// The exact power of two that the kernel approximates. The exponent is rounded to float32, as in
  /// the kernel.
  static double exact(float score) { return std::exp2(static_cast<double>(score * 1.44269504F)); }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(Exp2NonpositiveTest);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTN_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATTN_TEST_SANITIZED
#endif
#endif

#if defined(__OPTIMIZE__) && defined(__x86_64__) && !defined(ATTN_TEST_SANITIZED)
constexpr std::uint32_t kStep = 1;
#else
constexpr std::uint32_t kStep = 101;  // for emulators and sanitizers: a sample
#endif

// In these rows the largest score is 0, and the others are below −23. The sum of the other
// exponentials is less than half a unit in the last place of 1, so the row's sum is 1 and each
// weight is the exponential itself. Over this range of scores, the argument of the polynomial takes
// all its values. Results are normal numbers down to 2^-126.
TEST_P(Exp2NonpositiveTest, small_results_are_within_the_stated_error) {
  attn_test::LargestError largest("exp, scores from -87.3 to -23", kStated);
  for_each_float(-23.0F, -87.3F, kStep, [&](float score, float weight, float one) {
    if (one != 1.0F) FAIL() << one;  // ASSERT_EQ would take longer than the rest
    largest.add(weight / exact(score) - 1);
  });
}

// For scores from −23 to −1e-8, the kernel divides each exponential by the sum of the exponentials.
// The test knows the sum from the weight of a key whose score is 0. The division adds one rounding.
TEST_P(Exp2NonpositiveTest, large_results_are_within_the_stated_error) {
  attn_test::LargestError largest("exp, scores from -23 to -1e-8", kStated + 0x1p-24);
  for_each_float(-1e-8F, -23.0F, 64 * kStep, [&](float score, float weight, float one) {
    largest.add(weight / (exact(score) * one) - 1);
  });
}

TEST_P(Exp2NonpositiveTest, results_below_the_smallest_normal_number_vanish) {
  for_each_float(-87.4F, -3e38F, 640 * kStep, [&](float score, float weight, float one) {
    ASSERT_EQ(one, 1.0F);
    ASSERT_GE(weight, 0.0F) << score;
    ASSERT_LT(weight, 0x1p-126F) << score;
    ASSERT_TRUE(weight == 0.0F || score > -88.1F) << score;
  });
}

TEST_P(Exp2NonpositiveTest, is_exactly_one_at_zero) {
  const std::vector<float> weights = weights_of(std::vector<float>(kKeys, 0.0F));
  for (const float weight : weights) EXPECT_EQ(weight, 1.0F / kKeys);
}

TEST_P(Exp2NonpositiveTest, never_grows_when_the_score_falls) {
  // Where two of the polynomial's intervals meet, rounding may make a weight exceed the previous
  // weight by at most two units in the last place.
  float previous = 1.0F;
  for_each_float(-23.0F, -40.0F, 16 * kStep, [&](float, float weight, float) {
    ASSERT_LE(weight, previous * (1 + 4 * 0x1p-24F));
    previous = weight;
  });
}

}  // namespace
