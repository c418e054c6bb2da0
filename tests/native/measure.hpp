#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace attn_test {

/// Collects errors. The destructor prints the largest error and checks it against the bound that a
/// header states.
class LargestError {
 public:
  LargestError(std::string what, double stated) : what_(std::move(what)), stated_(stated) {}
  LargestError(const LargestError&) = delete;
  LargestError& operator=(const LargestError&) = delete;

  ~LargestError() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const char* isa = test->value_param() ? std::strrchr(test->name(), '/') : nullptr;
    std::printf("largest error of %-44s %-18s %.3g (stated: %.3g)\n", what_.c_str(),
                isa ? isa + 1 : "", largest_, stated_);
    EXPECT_LE(largest_, stated_) << what_;
    EXPECT_GT(count_, 0) << what_ << ": nothing was measured";
  }

  void add(double error) {
    ++count_;
    // NaN persists.
    if (!(std::abs(error) <= largest_)) largest_ = std::abs(error);
  }

 private:
  std::string what_;
  double stated_;
  double largest_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace attn_test
