#include "attn/positions/alibi.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

TEST(AlibiTest, slopes_of_any_number_of_heads) {
  std::vector<float> eight(8);
  attn::alibi_slopes(eight);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(eight[h], std::ldexp(1.0F, -(h + 1)));
  // The slopes of 12 heads are the slopes of 8 heads, followed by every other slope of 16 heads.
  std::vector<float> twelve(12);
  attn::alibi_slopes(twelve);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(twelve[h], eight[h]);
  for (int h = 0; h < 4; ++h) {
    EXPECT_EQ(twelve[8 + h], static_cast<float>(std::pow(2.0L, -(2 * h + 1) / 2.0L)));
  }
  std::vector<float> one(1);
  attn::alibi_slopes(one);
  EXPECT_EQ(one[0], std::ldexp(1.0F, -8));
  attn::alibi_slopes({});
}

/// The slopes according to the authors' recursion, in extended precision.
std::vector<long double> alibi_slopes_of(int num_heads) {
  int power = 1;
  while (2 * power <= num_heads) power *= 2;
  std::vector<long double> slopes;
  for (int h = 0; h < power; ++h) {
    slopes.push_back(std::pow(2.0L, -8.0L * (h + 1) / static_cast<long double>(power)));
  }
  if (power == num_heads) return slopes;
  const std::vector<long double> twice = alibi_slopes_of(2 * power);
  for (int h = 0; static_cast<int>(slopes.size()) < num_heads; h += 2) slopes.push_back(twice[h]);
  return slopes;
}

TEST(AlibiTest, slopes_of_every_number_of_heads_are_exact) {
  for (int num_heads = 1; num_heads <= 130; ++num_heads) {
    const std::vector<long double> exact = alibi_slopes_of(num_heads);
    std::vector<float> slopes(static_cast<std::size_t>(num_heads));
    attn::alibi_slopes(slopes);
    for (std::size_t h = 0; h < slopes.size(); ++h) {
      EXPECT_NEAR(slopes[h], static_cast<double>(exact[h]), 6e-8 * static_cast<double>(exact[h]))
          << h << " of " << num_heads;
    }
  }
}

}  // namespace
