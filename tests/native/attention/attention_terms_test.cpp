// Tests the terms of scaled_dot_product_attention other than scale, masks and softcap: relative
// positions, ALiBi, T5, sinks, dropout and padded key lengths. They are tested alone, together, and
// for a single query, which takes a separate path through the core.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/positions/t5_bias.hpp"
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

/// Returns sizes with one query and with several queries, with less than a block of keys and with
/// more, and with widths that are not multiples of the vector length.
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
      p.diagonal = Diagonal::bottom_right();
      expect_matches_reference(p, context());
      p.relative_values.clear();
      p.diagonal = Diagonal::offset(-3);
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
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
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
    // With an offset of ±1,000,000 or beyond, every key uses the outermost entry of each table.
    for (const auto& [huge, far] :
         {std::pair{kMax, std::int64_t{1000000}}, std::pair{kMin, std::int64_t{-1000000}}}) {
      p.diagonal = Diagonal::offset(huge);
      const auto got = attend(p, context());
      p.diagonal = Diagonal::offset(far);
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
    // If a row attends to no keys but has a sink, its output is 0 and its log-sum-exp is the sink.
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

TEST_P(AttentionTermsTest, dropout_depends_only_on_the_stream_and_the_position) {
  Random random;
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.dropout = 0.25F;
    p.dropout_random = {7, 3};
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
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
      // With fewer keys than queries, the offset is negative and the first queries attend to
      // nothing.
      p.causal = true;
      p.diagonal = Diagonal::bottom_right();
      expect_matches_reference(p, context());
      p.window = Window{.left = 5};
      add_relative(p, random, 2, false);
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
      p.diagonal = Diagonal::offset(2);
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

TEST_P(AttentionTermsTest, one_query_ignores_nan_and_infinity_in_excluded_keys_and_values) {
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
  // A NaN in an attended value must reach the output.
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
  all.causal = true;
  const auto exact = all.expected();

  attn::KeyValueCache cache(2, kHeads, kDim, kValueDim);
  const attn::ConstTensor query(all.query.data(), {2, 4, kTokens, kDim});
  const attn::ConstTensor key(all.key.data(), {2, kHeads, kTokens, kDim});
  const attn::ConstTensor value(all.value.data(), {2, kHeads, kTokens, kValueDim});
  std::vector<float> output(2 * 4 * kTokens * kValueDim);
  const attn::Tensor out(output.data(), {2, 4, kTokens, kValueDim});
  // Attends with seven tokens at once, then with one token at a time.
  for (std::int64_t begin = 0; begin < kTokens;) {
    const std::int64_t end = begin == 0 ? 7 : begin + 1;
    cache.append(key.slice(2, begin, end), value.slice(2, begin, end));
    EXPECT_EQ(cache.length(), end);
    attn::AttentionOptions options;
    options.causal = true;
    options.diagonal = Diagonal::offset(begin);
    attn::scaled_dot_product_attention(query.slice(2, begin, end), cache.keys(), cache.values(),
                                       out.slice(2, begin, end), options, context());
    begin = end;
  }
  EXPECT_TRUE(attn_test::is_within(output, exact.output, exact.output_error));
}

// ---- Errors

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
  EXPECT_EQ(error(),
            "shape_mismatch: relative_values: got largest distance 2, needs 1, the largest "
            "distance of relative_keys");
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
  EXPECT_EQ(error(),
            "invalid_argument: key_lens: got 7, needs a length from 0 to 6, the number of keys");
  options.key_lens = attn::ConstLengths(lens.data(), {2, 1});
  EXPECT_EQ(error(), "shape_mismatch: key_lens: got shape (2, 1), needs shape (2)");
  options.relative_values = attn::ConstTensor(n.data(), {2, 3, 7});
  EXPECT_EQ(error(),
            "shape_mismatch: relative_values: got shape (2, 3, 7), needs shape (any, 7) or (4, "
            "any, 7) with an odd number 2k+1 of distances");
  options.t5_bias = attn::T5Bias{attn::ConstTensor(n.data(), {7, 4})};
  EXPECT_EQ(error(), "invalid_argument: num_buckets: got 7, needs an even number if bidirectional");
  options.t5_bias = attn::T5Bias{attn::ConstTensor(n.data(), {32, 4}), true, 8};
  EXPECT_EQ(
      error(),
      "invalid_argument: max_distance: got 8, needs more than 8, the number of exact buckets");
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
            "invalid_argument: relative_keys: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.relative_values = {nullptr, {3, 7}}; }),
            "invalid_argument: relative_values: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.alibi_slopes = {nullptr, {4}}; }),
            "invalid_argument: alibi_slopes: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.t5_bias = attn::T5Bias{{nullptr, {32, 4}}}; }),
            "invalid_argument: t5_bias: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.sinks = {nullptr, {4}}; }),
            "invalid_argument: sinks: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.key_lens = {nullptr, {2}}; }),
            "invalid_argument: key_lens: got a null pointer, needs data");
  EXPECT_EQ(error([&](Options& o) { o.scaled_scores = {nullptr, scores}; }),
            "invalid_argument: scaled_scores: got a null pointer, needs data");
  EXPECT_EQ(error([&](Options& o) { o.capped_scores = {nullptr, scores}; }),
            "invalid_argument: capped_scores: got a null pointer, needs data");
  EXPECT_EQ(error([&](Options& o) { o.biased_scores = {nullptr, scores}; }),
            "invalid_argument: biased_scores: got a null pointer, needs data");
  EXPECT_EQ(error([](Options& o) { o.log_sum_exp = {nullptr, {2, 4, 3}}; }),
            "invalid_argument: log_sum_exp: got a null pointer, needs data");
}

TEST(AttentionTermsErrorTest, sizes_beyond_32_bits) {
  // With strides of 0, a view can declare more elements than memory can hold. The call must fail
  // without accessing an element.
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
            "size_overflow: query: got length 2147483648, needs at most 2147483647");
  EXPECT_EQ(error(1, kHuge, 1, 1),
            "size_overflow: key: got length 2147483648, needs at most 2147483647");
  EXPECT_EQ(error(1, 1, kHuge, 1),
            "size_overflow: query: got head dimension 2147483648, needs at most 2147483647");
  EXPECT_EQ(error(1, 1, 1, kHuge),
            "size_overflow: value: got head dimension 2147483648, needs at most 2147483647");
  EXPECT_EQ(memory, 5.0F);
}

}  // namespace
