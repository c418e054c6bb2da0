#include "attn/attention/key_value_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"

namespace {

using attn_test::error_of;

TEST(KeyValueCacheTest, grows_truncates_and_clears) {
  attn::KeyValueCache cache(1, 2, 3, 1, 1);
  EXPECT_EQ(cache.capacity(), 1);
  std::vector<float> keys(2 * 5 * 3), values(2 * 5);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(100 + i);
  const attn::ConstTensor key(keys.data(), {1, 2, 5, 3}), value(values.data(), {1, 2, 5, 1});
  cache.append(key.slice(2, 0, 2), value.slice(2, 0, 2));
  cache.append(key.slice(2, 2, 5), value.slice(2, 2, 5));
  ASSERT_EQ(cache.length(), 5);
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 5; ++i) {
      for (int d = 0; d < 3; ++d) EXPECT_EQ(cache.keys()(0, h, i, d), key(0, h, i, d));
      EXPECT_EQ(cache.values()(0, h, i, 0), value(0, h, i, 0));
    }
  }
  cache.truncate(3);
  EXPECT_EQ(cache.keys().size(2), 3);
  cache.clear();
  EXPECT_EQ(cache.length(), 0);
}

TEST(KeyValueCacheTest, errors_leave_the_cache_as_it_was) {
  attn::KeyValueCache cache(1, 2, 3, 1);
  std::vector<float> numbers(100);
  const attn::ConstTensor key(numbers.data(), {1, 2, 4, 3}), value(numbers.data(), {1, 2, 4, 1});
  cache.append(key, value);
  EXPECT_EQ(error_of([&] { cache.append(value, value); }),
            "shape_mismatch: key: got shape (1, 2, 4, 1), needs shape (1, 2, any, 3)");
  EXPECT_EQ(error_of([&] { cache.append(key, value.slice(2, 0, 3)); }),
            "shape_mismatch: value: got shape (1, 2, 3, 1), needs shape (1, 2, 4, 1)");
  EXPECT_EQ(error_of([&] { cache.truncate(5); }),
            "invalid_argument: length: got 5, needs 0 to 4, the number of stored tokens");
  EXPECT_EQ(cache.length(), 4);
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 0, 3, 1); }),
            "invalid_argument: num_kv_heads: got 0, needs 1 or more");
}

TEST(KeyValueCacheTest, errors_name_what_does_not_fit) {
  EXPECT_EQ(error_of([] { attn::KeyValueCache(0, 1, 3, 1); }),
            "invalid_argument: batch: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 1, 0, 1); }),
            "invalid_argument: head_dim: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 1, 3, -2); }),
            "invalid_argument: value_dim: got -2, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 1, 3, 1, -1); }),
            "invalid_argument: capacity: got -1, needs 0 or more");
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  EXPECT_EQ(error_of([] { attn::KeyValueCache(kBig, kBig, 1, 1, 1); }),
            "size_overflow: cache: got sizes (1099511627776, 1099511627776, 1, 1), needs sizes "
            "whose product fits into the address space");
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 1, 1, 1, std::int64_t{1} << 62); }),
            "size_overflow: cache: got 4611686018427387904 tokens, needs few enough tokens to "
            "fit into the address space");

  attn::KeyValueCache cache(1, 2, 3, 1);
  const std::vector<float> numbers(100);
  EXPECT_EQ(
      error_of([&] { cache.append({nullptr, {1, 2, 4, 3}}, {numbers.data(), {1, 2, 4, 1}}); }),
      "invalid_argument: key: got a null pointer, needs data");
  EXPECT_EQ(
      error_of([&] { cache.append({numbers.data(), {1, 2, 4, 3}}, {nullptr, {1, 2, 4, 1}}); }),
      "invalid_argument: value: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { cache.truncate(-1); }),
            "invalid_argument: length: got -1, needs 0 to 0, the number of stored tokens");
  EXPECT_EQ(cache.length(), 0);
}

TEST(KeyValueCacheTest, takes_views_of_itself) {
  attn::KeyValueCache cache(1, 1, 1, 1, 2);
  const std::vector<float> numbers{1, 2};
  cache.append({numbers.data(), {1, 1, 2, 1}}, {numbers.data(), {1, 1, 2, 1}});
  for (int doubled = 0; doubled < 5; ++doubled) cache.append(cache.keys(), cache.values());
  ASSERT_EQ(cache.length(), 64);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(cache.keys()(0, 0, i, 0), numbers[i % 2]);
    EXPECT_EQ(cache.values()(0, 0, i, 0), numbers[i % 2]);
  }
}

TEST(KeyValueCacheTest, running_out_of_memory_leaves_the_cache_as_it_was) {
  attn::KeyValueCache cache(1, 2, 3, 1, /*capacity=*/4);  // the second append() must grow it
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  const attn::ConstTensor key(numbers.data(), {1, 2, 4, 3}), value(numbers.data(), {1, 2, 4, 1});
  cache.append(key, value);
  const auto check = [&](std::int64_t) {
    ASSERT_EQ(cache.length(), 4);
    ASSERT_EQ(cache.keys()(0, 1, 3, 2), 24.0F);
    ASSERT_EQ(cache.values()(0, 1, 3, 0), 8.0F);
  };
  attn_test::expect_unchanged_until_memory_suffices([&] { cache.append(key, value); }, check);
  EXPECT_EQ(cache.length(), 8);
  EXPECT_EQ(cache.keys()(0, 1, 7, 2), 24.0F);
}

}  // namespace
