#include "attn/positions/t5_bias.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "compare.hpp"
#include "reference/attention.hpp"

namespace {

using attn_test::error_of;

TEST(T5BiasTest, buckets_match_hugging_face) {
  // Results of compute_distance_bucket in Transformers with its defaults, 32 buckets up to distance
  // 128.
  const std::pair<std::int64_t, std::int64_t> two_sided[] = {
      {0, 0},    {-1, 1},   {1, 17},   {-7, 7},    {7, 23},   {-8, 8},    {8, 24},
      {-11, 8},  {-12, 9},  {-16, 10}, {-23, 11},  {32, 28},  {-64, 14},  {64, 30},
      {-90, 14}, {-91, 15}, {128, 31}, {-128, 15}, {500, 31}, {-500, 15},
  };
  for (const auto& [distance, bucket] : two_sided) {
    EXPECT_EQ(attn::t5_bucket(distance, 32, 128, true), bucket) << distance;
  }
  const std::pair<std::int64_t, std::int64_t> one_sided[] = {
      {0, 0},    {5, 0},    {-1, 1},   {-15, 15},  {-16, 16},  {-18, 16},
      {-19, 17}, {-32, 21}, {-64, 26}, {-112, 30}, {-113, 31}, {-1000, 31},
  };
  for (const auto& [distance, bucket] : one_sided) {
    EXPECT_EQ(attn::t5_bucket(distance, 32, 128, false), bucket) << distance;
  }
}

TEST(T5BiasTest, all_far_distances_share_a_bucket) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(attn::t5_bucket(kMin, 32, 128, true), 15);
  EXPECT_EQ(attn::t5_bucket(kMax, 32, 128, true), 31);
  EXPECT_EQ(attn::t5_bucket(kMin, 32, 128, false), 31);
  EXPECT_EQ(attn::t5_bucket(kMax, 32, 128, false), 0);
}

TEST(T5BiasTest, buckets_match_the_reference) {
  for (const bool bidirectional : {true, false}) {
    for (const std::int64_t buckets : {4, 8, 32, 64}) {
      for (const std::int64_t max_distance : {33, 100, 128}) {
        for (std::int64_t distance = -300; distance <= 300; ++distance) {
          EXPECT_EQ(attn::t5_bucket(distance, buckets, max_distance, bidirectional),
                    reference::t5_bucket(distance, buckets, max_distance, bidirectional))
              << distance << " in " << buckets << " up to " << max_distance;
        }
      }
    }
  }
}

TEST(T5BiasTest, a_bucket_begins_where_its_logarithm_is_a_whole_number) {
  // With 9 buckets, bucket 4 + k begins at distance 4 · 2^k; with 10 buckets, bucket 5 + k begins
  // at 5 · 2^k. With 19 buckets and a maximum distance of 16, bucket 14 begins at
  // distance 12, because (12/9)^10 = (16/9)^5.
  for (const std::int64_t k : {1, 2, 3, 4}) {
    EXPECT_EQ(attn::t5_bucket(-(4 << k), 9, 128, false), 4 + k);
    EXPECT_EQ(attn::t5_bucket(1 - (4 << k), 9, 128, false), 3 + k);
    EXPECT_EQ(attn::t5_bucket(-(5 << k), 10, 160, false), 5 + k);
  }
  EXPECT_EQ(attn::t5_bucket(-12, 19, 16, false), 14);
}

TEST(T5BiasTest, errors_name_what_does_not_fit) {
  EXPECT_EQ(error_of([] { attn::t5_bucket(1, 1, 128, false); }),
            "invalid_argument: num_buckets: got 1, needs 2 or more");
  EXPECT_EQ(error_of([] { attn::t5_bucket(1, 7, 128, true); }),
            "invalid_argument: num_buckets: got 7, needs an even number if bidirectional");
  EXPECT_EQ(
      error_of([] { attn::t5_bucket(1, 32, 8, true); }),
      "invalid_argument: max_distance: got 8, needs more than 8, the number of exact buckets");
}

}  // namespace
