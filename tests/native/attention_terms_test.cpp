// The terms of scaled_dot_product_attention beyond scale, masks and softcap: relative positions,
// ALiBi, T5, sinks, dropout, padded key lengths; alone, together, and for one query on its own
// path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attention_problem.hpp"
#include "attn/alibi.hpp"
#include "attn/key_value_cache.hpp"
#include "attn/t5_bias.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"

namespace {

using attn::Diagonal;
using attn::Window;
using attn_test::attend;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::error_of;
using attn_test::expect_matches_reference;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

using AttentionTermsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionTermsTest);

/// One query and several, less and more than a block of keys, widths that are no whole vectors.
std::vector<AttentionSizes> typical_sizes() {
  return {{2, 4, 2, 1, 1, 8, 8},  {1, 2, 1, 1, 600, 20, 12}, {1, 2, 2, 1, 1030, 64, 64},
          {1, 3, 3, 7, 5, 3, 17}, {2, 4, 1, 50, 257, 16, 5}, {1, 2, 2, 13, 300, 33, 40}};
}

void add_relative(AttentionProblem& p, Random& random, std::int64_t max_distance, bool per_head) {
  p.max_distance = max_distance;
  p.relative_per_head = per_head;
  p.relative_keys = random.normals(AttentionProblem::count(p.relative_shape(p.sizes.head_dim)));
  p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(p.sizes.value_dim)));
}

TEST_P(AttentionTermsTest, relative_keys_and_values) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (const std::int64_t k : {0, 4, 400}) {
      SCOPED_TRACE(::testing::Message()
                   << sizes.num_queries << " × " << sizes.num_keys << ", k " << k);
      AttentionProblem p(sizes, random);
      add_relative(p, random, k, k == 4);
      expect_matches_reference(p, context());
      p.relative_diagonal = Diagonal::bottom_right();
      expect_matches_reference(p, context());
      p.relative_values.clear();
      p.relative_diagonal = Diagonal::offset(-3);
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionTermsTest, alibi_and_t5) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.alibi_slopes.resize(static_cast<std::size_t>(sizes.query_heads));
    attn::alibi_slopes(p.alibi_slopes);
    expect_matches_reference(p, context());
    p.causal = p.relative_diagonal = Diagonal::bottom_right();
    expect_matches_reference(p, context());
    p.t5_table = random.normals(32 * sizes.query_heads);
    expect_matches_reference(p, context());
    p.alibi_slopes.clear();
    p.t5_bidirectional = false;
    p.t5_max_distance = 40;
    expect_matches_reference(p, context());
  }
}

TEST_P(AttentionTermsTest, huge_relative_offsets_do_not_overflow) {
  Random random;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t num_queries : {1, 5}) {
    AttentionProblem p({.num_queries = num_queries, .num_keys = 20, .head_dim = 4, .value_dim = 3},
                       random);
    add_relative(p, random, 3, false);
    p.t5_table = random.normals(32);
    // So far away, all keys have the distance of the last column of the tables.
    for (const auto& [huge, far] :
         {std::pair{kMax, std::int64_t{1000000}}, std::pair{kMin, std::int64_t{-1000000}}}) {
      p.relative_diagonal = Diagonal::offset(huge);
      const auto got = attend(p, context());
      p.relative_diagonal = Diagonal::offset(far);
      const auto expected = attend(p, context());
      EXPECT_TRUE(same_bits(got.output, expected.output));
      EXPECT_TRUE(same_bits(got.weights, expected.weights));
    }
  }
}

TEST_P(AttentionTermsTest, sinks_take_part_without_a_value) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.sinks = random.normals(sizes.query_heads);
    p.sinks[0] = 30;
    expect_matches_reference(p, context());
    // Rows with nothing but the sink: output 0, log-sum-exp the sink.
    p.valid_lens.assign(static_cast<std::size_t>(sizes.batch), 0);
    expect_matches_reference(p, context());
  }
}

TEST_P(AttentionTermsTest, dropout_of_1_leaves_zeros) {
  for (const std::int64_t queries : {1, 5}) {
    Random random;
    AttentionProblem p({.batch = 2,
                        .query_heads = 2,
                        .key_heads = 2,
                        .num_queries = queries,
                        .num_keys = 300,
                        .head_dim = 8,
                        .value_dim = 8},
                       random);
    p.dropout = 1;
    const auto got = attn_test::attend(p, context());
    EXPECT_THAT(got.output, ::testing::Each(0.0F));
    EXPECT_THAT(got.weights, ::testing::Each(0.0F));
  }
}

TEST_P(AttentionTermsTest, dropout_depends_on_the_stream_and_the_place_alone) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.dropout = 0.25F;
    p.dropout_random = {7, 3};
    p.causal = Diagonal::bottom_right();
    expect_matches_reference(p, context());
    EXPECT_TRUE(same_bits(attend(p, context(1)).output, attend(p, context(3)).output));
  }
}

TEST_P(AttentionTermsTest, padded_key_lengths_move_the_bottom_right_diagonal) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (const double share : {0.0, 0.3, 1.0}) {
      SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
      AttentionProblem p(sizes, random);
      for (std::int64_t b = 0; b < sizes.batch; ++b) {
        p.key_lens.push_back(
            static_cast<std::int32_t>(share * static_cast<double>(sizes.num_keys - b % 2)));
      }
      expect_matches_reference(p, context());
      // With fewer keys than queries the offset is negative, and the first queries see nothing.
      p.causal = Diagonal::bottom_right();
      expect_matches_reference(p, context());
      p.window = Window{.left = 5, .right = {}, .diagonal = Diagonal::bottom_right()};
      add_relative(p, random, 2, false);
      p.relative_diagonal = Diagonal::bottom_right();
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionTermsTest, keys_beyond_a_shorter_mask_are_excluded) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (const std::int64_t length : {2, 4, 255, 256, 270, 600}) {
      if (length > sizes.num_keys) continue;
      SCOPED_TRACE(::testing::Message()
                   << sizes.num_queries << " × " << sizes.num_keys << ", mask " << length);
      AttentionProblem p(sizes, random);
      p.mask_shape = {sizes.num_queries, length};
      for (std::int64_t i = 0; i < sizes.num_queries * length; ++i) p.mask.push_back(i % 3 != 0);
      expect_matches_reference(p, context());
      p.mask.clear();
      p.bias_shape = {length};
      p.bias = random.normals(length);
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionTermsTest, all_terms_compose_in_every_layout) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread,
                                Layout::kTransposed, Layout::kReversed}) {
      SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys
                                        << ", layout " << static_cast<int>(layout));
      AttentionProblem p(sizes, random);
      p.layout = layout;
      p.scale = 0.3F;
      p.softcap = 5;
      add_relative(p, random, 3, true);
      p.alibi_slopes = random.normals(sizes.query_heads);
      p.t5_table = random.normals(8 * sizes.query_heads);
      p.relative_diagonal = Diagonal::offset(2);
      p.bias_shape = {sizes.query_heads, 1, sizes.num_keys};
      p.bias = random.normals(sizes.query_heads * sizes.num_keys);
      p.mask_shape = {sizes.num_keys};
      for (std::int64_t j = 0; j < sizes.num_keys; ++j) p.mask.push_back(j % 5 != 1);
      p.window = Window{.left = 200, .right = 150};
      p.sinks = random.normals(sizes.query_heads);
      p.dropout = 0.1F;
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionTermsTest, one_query_ignores_what_is_not_finite_in_excluded_keys_and_values) {
  Random random;
  AttentionProblem clean({.batch = 1,
                          .query_heads = 2,
                          .key_heads = 1,
                          .num_queries = 1,
                          .num_keys = 1300,
                          .head_dim = 20,
                          .value_dim = 12},
                         random);
  clean.mask_shape = {1300};
  for (int j = 0; j < 1300; ++j) clean.mask.push_back(j % 7 != 3 && j < 1200);
  AttentionProblem dirty = clean;
  const float poison[] = {NAN, INFINITY, -INFINITY};
  for (std::size_t j = 0; j < 1300; ++j) {
    if (clean.mask[j]) continue;
    for (std::size_t d = 0; d < 20; ++d) dirty.key[j * 20 + d] = poison[j % 3];
    for (std::size_t d = 0; d < 12; ++d) dirty.value[j * 12 + d] = poison[(j + d) % 3];
    for (std::size_t d = 0; d < 12; ++d) clean.value[j * 12 + d] = 0;
  }
  EXPECT_TRUE(same_bits(attend(dirty, context()).output, attend(clean, context()).output));
  EXPECT_TRUE(same_bits(attend(dirty, context()).weights, attend(clean, context()).weights));
  // In an attended value it does get out.
  dirty.value[0] = NAN;
  EXPECT_TRUE(std::isnan(attend(dirty, context()).output[0]));
}

TEST_P(AttentionTermsTest, one_query_has_the_same_bits_for_any_number_of_threads) {
  Random random;
  AttentionProblem p({.batch = 1,
                      .query_heads = 3,
                      .key_heads = 3,
                      .num_queries = 1,
                      .num_keys = 5000,
                      .head_dim = 64,
                      .value_dim = 64},
                     random);
  const auto one = attend(p, context(1));
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(attend(p, context(threads)).output, one.output)) << threads;
  }
}

TEST_P(AttentionTermsTest, cache_equals_no_cache) {
  Random random;
  constexpr std::int64_t kTokens = 40, kHeads = 2, kDim = 12, kValueDim = 9;
  AttentionProblem all({.batch = 2,
                        .query_heads = 4,
                        .key_heads = kHeads,
                        .num_queries = kTokens,
                        .num_keys = kTokens,
                        .head_dim = kDim,
                        .value_dim = kValueDim},
                       random);
  all.causal = Diagonal::top_left();
  const auto exact = all.expected();

  attn::KeyValueCache cache(2, kHeads, kDim, kValueDim);
  const attn::ConstTensor query(all.query.data(), {2, 4, kTokens, kDim});
  const attn::ConstTensor key(all.key.data(), {2, kHeads, kTokens, kDim});
  const attn::ConstTensor value(all.value.data(), {2, kHeads, kTokens, kValueDim});
  std::vector<float> output(2 * 4 * kTokens * kValueDim);
  const attn::Tensor out(output.data(), {2, 4, kTokens, kValueDim});
  // Several tokens at once, then one by one.
  for (std::int64_t begin = 0; begin < kTokens;) {
    const std::int64_t end = begin == 0 ? 7 : begin + 1;
    cache.append(key.slice(2, begin, end), value.slice(2, begin, end));
    EXPECT_EQ(cache.length(), end);
    attn::AttentionOptions options;
    options.causal = Diagonal::offset(begin);
    attn::scaled_dot_product_attention(query.slice(2, begin, end), cache.keys(), cache.values(),
                                       out.slice(2, begin, end), options, context());
    begin = end;
  }
  EXPECT_TRUE(attn_test::is_within(output, exact.output, exact.output_error));
}

// ---- What stands by itself

TEST(AlibiTest, slopes_of_any_number_of_heads) {
  std::vector<float> eight(8);
  attn::alibi_slopes(eight);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(eight[h], std::ldexp(1.0F, -(h + 1)));
  // 12 heads: those of 8, then every other one of 16.
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

/// The slopes by the authors' recursion, in extended precision.
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

TEST(T5BiasTest, buckets_are_those_of_hugging_face) {
  // compute_distance_bucket of transformers with its defaults, 32 buckets up to 128.
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

TEST(T5BiasTest, buckets_are_those_of_the_reference) {
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

TEST(T5BiasTest, errors_name_what_does_not_fit) {
  EXPECT_EQ(error_of([] { attn::t5_bucket(1, 1, 128, false); }),
            "invalid_argument: num_buckets: got 1, needs 2 or more");
  EXPECT_EQ(error_of([] { attn::t5_bucket(1, 7, 128, true); }),
            "invalid_argument: num_buckets: got 7, needs an even number when two-sided");
  EXPECT_EQ(error_of([] { attn::t5_bucket(1, 32, 8, true); }),
            "invalid_argument: max_distance: got 8, needs more than the 8 exact buckets");
}

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
            "invalid_argument: length: got 5, needs a length between 0 and the 4 stored");
  EXPECT_EQ(cache.length(), 4);
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 0, 3, 1); }),
            "invalid_argument: num_kv_heads: got 0, needs 1 or more");
}

TEST(AttentionTermsErrorTest, messages_name_the_argument) {
  std::vector<float> n(1000);
  std::vector<float> out(1000);
  attn::AttentionOptions options;
  const auto error = [&] {
    const std::string text = error_of([&] {
      attn::scaled_dot_product_attention(attn::ConstTensor(n.data(), {2, 4, 3, 5}),
                                         attn::ConstTensor(n.data(), {2, 2, 6, 5}),
                                         attn::ConstTensor(n.data(), {2, 2, 6, 7}),
                                         attn::Tensor(out.data(), {2, 4, 3, 7}), options);
    });
    options = {};
    return text;
  };
  options.relative_keys = attn::ConstTensor(n.data(), {4, 5});
  EXPECT_EQ(error(),
            "shape_mismatch: relative_keys: got shape (4, 5), needs shape (any, 5) or (4, any, 5) "
            "with an odd number 2k+1 of distances");
  options.relative_keys = attn::ConstTensor(n.data(), {3, 5});
  options.relative_values = attn::ConstTensor(n.data(), {5, 7});
  EXPECT_EQ(
      error(),
      "shape_mismatch: relative_values: max distance 2 does not match that of relative_keys 1");
  options.alibi_slopes = attn::ConstTensor(n.data(), {2});
  EXPECT_EQ(error(), "shape_mismatch: alibi_slopes: got shape (2), needs shape (4)");
  options.t5_bias = attn::T5Bias{attn::ConstTensor(n.data(), {32, 2})};
  EXPECT_EQ(error(), "shape_mismatch: t5_bias: got shape (32, 2), needs shape (any, 4)");
  options.sinks = attn::ConstTensor(n.data(), {3});
  EXPECT_EQ(error(), "shape_mismatch: sinks: got shape (3), needs shape (4)");
  options.dropout = 2;
  EXPECT_EQ(error(), "invalid_argument: dropout: got 2, needs a probability between 0 and 1");
  const std::vector<std::int32_t> lens{6, 7};
  options.key_lens = attn::ConstLengths(lens.data(), {2});
  EXPECT_EQ(error(), "invalid_argument: key_lens: got 7, needs a length between 0 and the 6 keys");
  options.key_lens = attn::ConstLengths(lens.data(), {2, 1});
  EXPECT_EQ(error(), "shape_mismatch: key_lens: got shape (2, 1), needs shape (2)");
  options.relative_values = attn::ConstTensor(n.data(), {2, 3, 7});
  EXPECT_EQ(error(),
            "shape_mismatch: relative_values: got shape (2, 3, 7), needs shape (any, 7) or (4, "
            "any, 7) with an odd number 2k+1 of distances");
  options.t5_bias = attn::T5Bias{attn::ConstTensor(n.data(), {7, 4})};
  EXPECT_EQ(error(), "invalid_argument: num_buckets: got 7, needs an even number when two-sided");
  options.t5_bias = attn::T5Bias{attn::ConstTensor(n.data(), {32, 4}), true, 8};
  EXPECT_EQ(error(), "invalid_argument: max_distance: got 8, needs more than the 8 exact buckets");
  for (const float dropout : {-0.1F, 1.5F, NAN}) {
    options.dropout = dropout;
    EXPECT_THAT(error(), ::testing::EndsWith("needs a probability between 0 and 1"));
  }
}

TEST(AttentionTermsErrorTest, null_data_of_any_optional_tensor) {
  std::vector<float> n(1000);
  std::vector<float> out(1000, 5.0F);
  const auto error = [&](auto&& set) {
    attn::AttentionOptions options;
    set(options);
    const std::string text = error_of([&] {
      attn::scaled_dot_product_attention(attn::ConstTensor(n.data(), {2, 4, 3, 5}),
                                         attn::ConstTensor(n.data(), {2, 2, 6, 5}),
                                         attn::ConstTensor(n.data(), {2, 2, 6, 7}),
                                         attn::Tensor(out.data(), {2, 4, 3, 7}), options);
    });
    EXPECT_THAT(out, ::testing::Each(5.0F)) << "a failed call has written";
    return text;
  };
  using Options = attn::AttentionOptions;
  const std::initializer_list<std::int64_t> scores{2, 4, 3, 6};
  EXPECT_EQ(error([](Options& o) { o.relative_keys = {nullptr, {3, 5}}; }),
            "invalid_argument: relative_keys: data is null");
  EXPECT_EQ(error([](Options& o) { o.relative_values = {nullptr, {3, 7}}; }),
            "invalid_argument: relative_values: data is null");
  EXPECT_EQ(error([](Options& o) { o.alibi_slopes = {nullptr, {4}}; }),
            "invalid_argument: alibi_slopes: data is null");
  EXPECT_EQ(error([](Options& o) { o.t5_bias = attn::T5Bias{{nullptr, {32, 4}}}; }),
            "invalid_argument: t5_bias: data is null");
  EXPECT_EQ(error([](Options& o) { o.sinks = {nullptr, {4}}; }),
            "invalid_argument: sinks: data is null");
  EXPECT_EQ(error([](Options& o) { o.key_lens = {nullptr, {2}}; }),
            "invalid_argument: key_lens: data is null");
  EXPECT_EQ(error([&](Options& o) { o.scaled_scores = {nullptr, scores}; }),
            "invalid_argument: scaled_scores: data is null");
  EXPECT_EQ(error([&](Options& o) { o.capped_scores = {nullptr, scores}; }),
            "invalid_argument: capped_scores: data is null");
  EXPECT_EQ(error([&](Options& o) { o.biased_scores = {nullptr, scores}; }),
            "invalid_argument: biased_scores: data is null");
  EXPECT_EQ(error([](Options& o) { o.log_sum_exp = {nullptr, {2, 4, 3}}; }),
            "invalid_argument: log_sum_exp: data is null");
}

TEST(AttentionTermsErrorTest, sizes_beyond_32_bits) {
  // Views with stride 0 claim far more elements than there is memory; none of it may be touched.
  float memory = 5;
  const auto huge = [&](std::vector<std::int64_t> shape) {
    const std::vector<std::int64_t> strides(shape.size(), 0);
    return attn::Tensor(&memory, shape, strides);
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  const auto error = [&](std::int64_t queries, std::int64_t keys, std::int64_t dim,
                         std::int64_t value_dim) {
    return error_of([&] {
      attn::scaled_dot_product_attention(huge({queries, dim}), huge({keys, dim}),
                                         huge({keys, value_dim}), huge({queries, value_dim}));
    });
  };
  EXPECT_EQ(error(kHuge, 1, 1, 1),
            "size_overflow: query: length 2147483648 is more than 2147483647");
  EXPECT_EQ(error(1, kHuge, 1, 1), "size_overflow: key: length 2147483648 is more than 2147483647");
  EXPECT_EQ(error(1, 1, kHuge, 1),
            "size_overflow: query: head dimension 2147483648 is more than 2147483647");
  EXPECT_EQ(error(1, 1, 1, kHuge),
            "size_overflow: value: head dimension 2147483648 is more than 2147483647");
  EXPECT_EQ(memory, 5.0F);
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
            "size_overflow: cache: the product of the sizes (1099511627776, 1099511627776, 1, 1) "
            "exceeds the address space");
  EXPECT_EQ(error_of([] { attn::KeyValueCache(1, 1, 1, 1, std::int64_t{1} << 62); }),
            "size_overflow: cache: 4611686018427387904 tokens exceed the address space");

  attn::KeyValueCache cache(1, 2, 3, 1);
  const std::vector<float> numbers(100);
  EXPECT_EQ(
      error_of([&] { cache.append({nullptr, {1, 2, 4, 3}}, {numbers.data(), {1, 2, 4, 1}}); }),
      "invalid_argument: key: data is null");
  EXPECT_EQ(
      error_of([&] { cache.append({numbers.data(), {1, 2, 4, 3}}, {nullptr, {1, 2, 4, 1}}); }),
      "invalid_argument: value: data is null");
  EXPECT_EQ(error_of([&] { cache.truncate(-1); }),
            "invalid_argument: length: got -1, needs a length between 0 and the 0 stored");
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
  attn::KeyValueCache cache(1, 2, 3, 1);
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  const attn::ConstTensor key(numbers.data(), {1, 2, 4, 3}), value(numbers.data(), {1, 2, 4, 1});
  cache.append(key, value);
  for (int allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 100);
    bool failed = false;
    {
      attn_test::AllocationProbe probe;
      probe.fail_after(allowed);
      try {
        cache.append(key, value);
      } catch (const attn::Error& error) {
        failed = true;
        EXPECT_EQ(error.code(), attn::ErrorCode::kOutOfMemory) << error.what();
        EXPECT_STREQ(error.what(), "cache: memory for 8 tokens could not be had");
      } catch (const std::bad_alloc&) {
        // Not even the message could be made.
        failed = true;
      }
    }
    if (!failed) break;
    ASSERT_EQ(cache.length(), 4);
    ASSERT_EQ(cache.keys()(0, 1, 3, 2), 24.0F);
    ASSERT_EQ(cache.values()(0, 1, 3, 0), 8.0F);
  }
  EXPECT_EQ(cache.length(), 8);
  EXPECT_EQ(cache.keys()(0, 1, 7, 2), 24.0F);
}

}  // namespace
