#include "attn/training/schedules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "compare.hpp"

namespace {

using attn_test::error_of;
using testing::HasSubstr;

TEST(SchedulesTest, WarmUpIsLinearAndThenConstant) {
  EXPECT_EQ(attn::constant_learning_rate(1, 0.5), 0.5);
  EXPECT_EQ(attn::constant_learning_rate(1, 0.5, 4), 0.125);
  EXPECT_EQ(attn::constant_learning_rate(4, 0.5, 4), 0.5);
  EXPECT_EQ(attn::constant_learning_rate(1'000'000'000'000, 0.5, 4), 0.5);
}

TEST(SchedulesTest, CosineFallsFromThePeakToTheLastRate) {
  EXPECT_EQ(attn::cosine_learning_rate(3, 2, 12, 100), 0.5);
  EXPECT_EQ(attn::cosine_learning_rate(12, 2, 12, 100), 2);
  for (int step = 13; step <= 100; ++step) {
    const double angle = std::numbers::pi * (step - 12) / 88;
    EXPECT_NEAR(attn::cosine_learning_rate(step, 2, 12, 100, 0.1),
                0.1 + 1.9 * (1 + std::cos(angle)) / 2, 2e-10);
  }
  EXPECT_EQ(attn::cosine_learning_rate(100, 2, 12, 100, 0.1), 0.1);
  EXPECT_EQ(attn::cosine_learning_rate(1000, 2, 12, 100, 0.1), 0.1);
  EXPECT_EQ(attn::cosine_learning_rate(1, 2, 0, 0, 0.1), 0.1);
}

TEST(SchedulesTest, InverseSquareRootIsVaswanis) {
  for (const int step : {1, 2, 399, 400, 401, 100'000}) {
    EXPECT_NEAR(
        attn::inverse_sqrt_learning_rate(step, 512, 400, 2),
        2 * std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(400, -1.5)),
        1e-15);
  }
}

TEST(SchedulesTest, ErrorsExplainTheProblem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([] { attn::constant_learning_rate(0, 1); }),
            "invalid_argument: step: got 0, needs 1 or more");
  EXPECT_THAT(error_of([&] { attn::constant_learning_rate(1, nan); }), HasSubstr("peak: got nan"));
  EXPECT_THAT(error_of([] { attn::constant_learning_rate(1, 1, -1); }), HasSubstr("warmup_steps"));
  EXPECT_THAT(error_of([] { attn::cosine_learning_rate(1, 1, 9, 8); }), HasSubstr("total_steps"));
  EXPECT_THAT(error_of([] { attn::cosine_learning_rate(1, 1, 0, 8, -1); }), HasSubstr("last"));
  EXPECT_THAT(error_of([] { attn::inverse_sqrt_learning_rate(1, 0, 1); }), HasSubstr("d_model"));
  EXPECT_THAT(error_of([] { attn::inverse_sqrt_learning_rate(1, 1, 0); }), HasSubstr("warmup"));
  EXPECT_THAT(error_of([] { attn::inverse_sqrt_learning_rate(1, 1, 1, -1); }), HasSubstr("factor"));
}

}  // namespace
