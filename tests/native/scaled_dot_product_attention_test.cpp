#include "attn/scaled_dot_product_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attention_problem.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "measure.hpp"
#include "random.hpp"

namespace {

using attn::Diagonal;
using attn::Window;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::AttentionWants;
using attn_test::expect_matches_reference;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class ScaledDotProductAttentionTest : public attn_test::EveryInstructionSet {
 protected:
  /// (B, H, N, D) = (2, 4, 60, 20) with grouped heads, over more than one block of keys.
  static AttentionProblem grouped_problem(Random& random) {
    return AttentionProblem({.batch = 2,
                             .query_heads = 4,
                             .key_heads = 2,
                             .num_queries = 60,
                             .num_keys = 300,
                             .head_dim = 20,
                             .value_dim = 12},
                            random);
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(ScaledDotProductAttentionTest);

// ---- Sizes

TEST_P(ScaledDotProductAttentionTest, one_query_and_one_key_give_the_value) {
  const std::vector<float> query{0.5F, -2.0F}, key{3.0F, 1.0F}, value{7.25F, -1.5F, 0.125F};
  std::vector<float> output(3);
  attn::scaled_dot_product_attention({query.data(), {1, 2}}, {key.data(), {1, 2}},
                                     {value.data(), {1, 3}}, {output.data(), {1, 3}}, {},
                                     context());
  EXPECT_EQ(output, value);
}

TEST_P(ScaledDotProductAttentionTest, equal_keys_give_the_mean_of_the_values) {
  const std::vector<float> query{1, 2}, key{3, 4, 3, 4, 3, 4, 3, 4}, value{1, 2, 3, 6};
  std::vector<float> output(1);
  attn::scaled_dot_product_attention({query.data(), {1, 2}}, {key.data(), {4, 2}},
                                     {value.data(), {4, 1}}, {output.data(), {1, 1}}, {},
                                     context());
  EXPECT_EQ(output[0], 3.0F);
}

TEST_P(ScaledDotProductAttentionTest, matches_the_reference_at_every_number_of_keys) {
  Random random;
  for (const std::int64_t num_keys : {1,  2,  3,  4,   5,   7,   8,   9,   15,  16,  17,  31,  32,
                                      33, 37, 64, 127, 255, 256, 257, 511, 512, 513, 521, 1031}) {
    SCOPED_TRACE("num_keys " + std::to_string(num_keys));
    expect_matches_reference(
        AttentionProblem({.num_queries = 3, .num_keys = num_keys, .head_dim = 8, .value_dim = 8},
                         random),
        context());
  }
}

TEST_P(ScaledDotProductAttentionTest, matches_the_reference_at_every_number_of_queries) {
  Random random;
  for (const std::int64_t num_queries :
       {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 28, 29, 41, 47, 48, 49, 55, 56, 57, 95, 96, 97, 113}) {
    SCOPED_TRACE("num_queries " + std::to_string(num_queries));
    expect_matches_reference(
        AttentionProblem(
            {.num_queries = num_queries, .num_keys = 19, .head_dim = 5, .value_dim = 7}, random),
        context());
  }
}

TEST_P(ScaledDotProductAttentionTest, matches_the_reference_at_every_head_dimension) {
  Random random;
  for (const std::int64_t head_dim : {1, 2, 3, 4, 15, 16, 17, 20, 64, 80, 127, 128, 129, 256}) {
    for (const std::int64_t value_dim :
         {head_dim, std::int64_t{1}, head_dim + 1, 2 * head_dim - 1}) {
      SCOPED_TRACE("head_dim " + std::to_string(head_dim) + ", value_dim " +
                   std::to_string(value_dim));
      expect_matches_reference(AttentionProblem({.query_heads = 2,
                                                 .key_heads = 2,
                                                 .num_queries = 9,
                                                 .num_keys = 21,
                                                 .head_dim = head_dim,
                                                 .value_dim = value_dim},
                                                random),
                               context());
    }
  }
}

// One query over keys of unit column stride goes its own way, in blocks of 512 keys.
TEST_P(ScaledDotProductAttentionTest, one_query_matches_the_reference_at_every_number_of_keys) {
  Random random;
  for (const std::int64_t num_keys : {1,   2,   3,   4,   5,   15,  16,   17,   31,   33,   255,
                                      256, 257, 511, 512, 513, 767, 1023, 1024, 1025, 1537, 2311}) {
    SCOPED_TRACE("num_keys " + std::to_string(num_keys));
    expect_matches_reference(AttentionProblem({.batch = 2,
                                               .query_heads = 2,
                                               .key_heads = 1,
                                               .num_queries = 1,
                                               .num_keys = num_keys,
                                               .head_dim = 9,
                                               .value_dim = 5},
                                              random),
                             context());
  }
}

TEST_P(ScaledDotProductAttentionTest, one_query_matches_the_reference_at_every_head_dimension) {
  Random random;
  for (const std::int64_t head_dim : {1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 33, 64, 80, 128, 256}) {
    for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kTransposed}) {
      SCOPED_TRACE("head_dim " + std::to_string(head_dim) + ", layout " +
                   std::to_string(static_cast<int>(layout)));
      AttentionProblem p({.query_heads = 3,
                          .key_heads = 3,
                          .num_queries = 1,
                          .num_keys = 700,
                          .head_dim = head_dim,
                          .value_dim = head_dim},
                         random);
      p.layout = layout;
      p.valid_lens = {690};
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, one_query_has_the_same_bits_alone_and_in_any_batch) {
  Random random;
  AttentionProblem batch({.batch = 3,
                          .query_heads = 2,
                          .key_heads = 1,
                          .num_queries = 1,
                          .num_keys = 1200,
                          .head_dim = 20,
                          .value_dim = 12},
                         random);
  batch.valid_lens = {1200, 513, 40};
  const AttentionOutputs together = attend(batch, context());
  for (std::ptrdiff_t b = 0; b < 3; ++b) {
    AttentionProblem alone = batch;
    alone.sizes.batch = 1;
    alone.query = {batch.query.begin() + b * 40, batch.query.begin() + (b + 1) * 40};
    alone.key = {batch.key.begin() + b * 24000, batch.key.begin() + (b + 1) * 24000};
    alone.value = {batch.value.begin() + b * 14400, batch.value.begin() + (b + 1) * 14400};
    alone.valid_lens = {batch.valid_lens[static_cast<std::size_t>(b)]};
    EXPECT_TRUE(
        same_bits(attend(alone, context()).output,
                  {together.output.begin() + b * 24, together.output.begin() + (b + 1) * 24}))
        << b;
  }
}

TEST_P(ScaledDotProductAttentionTest, every_rank_gives_the_same_bits) {
  Random random;
  AttentionProblem p({.num_queries = 10, .num_keys = 33, .head_dim = 6, .value_dim = 5}, random);
  expect_matches_reference(p, context());
  const AttentionOutputs rank4 = attend(p, context());
  for (const int rank : {2, 3}) {
    p.rank = rank;
    const AttentionOutputs got = attend(p, context());
    EXPECT_TRUE(same_bits(got.output, rank4.output)) << "rank " << rank;
    EXPECT_TRUE(same_bits(got.weights, rank4.weights)) << "rank " << rank;
  }
}

TEST_P(ScaledDotProductAttentionTest, rank_3_is_a_batch_with_one_head) {
  Random random;
  AttentionProblem p({.batch = 5, .num_queries = 4, .num_keys = 6, .head_dim = 8, .value_dim = 3},
                     random);
  p.rank = 3;
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, no_query_batch_or_head_leaves_nothing_to_do) {
  Random random;
  for (const AttentionSizes& sizes :
       {AttentionSizes{.batch = 0, .num_queries = 2, .num_keys = 3},
        AttentionSizes{.num_queries = 0, .num_keys = 3},
        AttentionSizes{.query_heads = 0, .key_heads = 0, .num_queries = 2, .num_keys = 3}}) {
    AttentionProblem p(sizes, random);
    EXPECT_TRUE(attend(p, context()).output.empty());
  }
}

TEST_P(ScaledDotProductAttentionTest, no_key_gives_zero) {
  Random random;
  AttentionProblem p(
      {.batch = 2, .query_heads = 2, .num_queries = 3, .num_keys = 0, .value_dim = 4}, random);
  const AttentionOutputs got = attend(p, context());
  EXPECT_THAT(got.output, ::testing::Each(0.0F));
  EXPECT_THAT(got.log_sum_exp, ::testing::Each(-kInfinity));
}

TEST_P(ScaledDotProductAttentionTest, views_without_elements_need_no_memory) {
  std::vector<float> query{1, 2}, output{5, 5};
  const std::vector<std::int32_t> valid_lens{0, 0};
  attn::AttentionOptions options;
  options.mask = {nullptr, {2, 1, 1, 0}};
  options.bias = {nullptr, {2, 1, 1, 0}};
  options.weights = {nullptr, {2, 1, 1, 0}};
  options.valid_lens = {valid_lens.data(), {2}};
  attn::scaled_dot_product_attention({query.data(), {2, 1, 1, 1}}, {nullptr, {2, 1, 0, 1}},
                                     {nullptr, {2, 1, 0, 1}}, {output.data(), {2, 1, 1, 1}},
                                     options, context());
  EXPECT_THAT(output, ::testing::Each(0.0F));
}

TEST_P(ScaledDotProductAttentionTest, values_of_width_zero_still_give_weights) {
  Random random;
  AttentionProblem p({.num_queries = 3, .num_keys = 4, .head_dim = 2, .value_dim = 0}, random);
  expect_matches_reference(p, context());
}

// ---- Layouts

TEST_P(ScaledDotProductAttentionTest, every_layout_gives_the_same_bits) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.bias_shape = p.score_shape();
  p.bias = random.normals(AttentionProblem::count(p.bias_shape));
  p.mask_shape = p.score_shape();
  for (std::int64_t i = 0; i < AttentionProblem::count(p.mask_shape); ++i) {
    p.mask.push_back(random.chance(0.8));
  }
  p.valid_lens = {299, 120};
  const AttentionOutputs contiguous = attend(p, context());
  expect_matches_reference(p, context());
  for (const Layout layout :
       {Layout::kHeadsInside, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)));
    p.layout = layout;
    const AttentionOutputs got = attend(p, context());
    EXPECT_TRUE(same_bits(got.output, contiguous.output));
    EXPECT_TRUE(same_bits(got.weights, contiguous.weights));
    EXPECT_TRUE(same_bits(got.biased_scores, contiguous.biased_scores));
    EXPECT_TRUE(same_bits(got.log_sum_exp, contiguous.log_sum_exp));
  }
}

TEST_P(ScaledDotProductAttentionTest, heads_are_read_in_place_from_the_model_dimension) {
  Random random;
  const std::int64_t batch = 2, length = 5, heads = 3, dim = 4;
  const std::vector<float> x = random.normals(batch * length * heads * dim);
  std::vector<float> output(x.size());
  const attn::ConstTensor split =
      attn::ConstTensor(x.data(), {batch, length, heads * dim}).split_heads(heads);
  const attn::Tensor merged =
      attn::Tensor(output.data(), {batch, length, heads * dim}).split_heads(heads);
  attn::scaled_dot_product_attention(split, split, split, merged, {}, context());

  // The same with a copy of each head.
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<float> head, head_output(static_cast<std::size_t>(length * dim)), got;
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t d = 0; d < dim; ++d) {
          head.push_back(split(b, h, i, d));
          got.push_back(merged(b, h, i, d));
        }
      }
      const attn::ConstTensor view(head.data(), {length, dim});
      attn::scaled_dot_product_attention(view, view, view, {head_output.data(), {length, dim}}, {},
                                         context());
      EXPECT_TRUE(same_bits(got, head_output));
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, stride_zero_repeats_a_tensor) {
  Random random;
  const std::vector<float> query = random.normals(3 * 4 * 8);
  const std::vector<float> key = random.normals(5 * 8);
  std::vector<float> output(3 * 4 * 8), single(4 * 8);
  const std::vector<std::int64_t> shape{3, 5, 8}, strides{0, 8, 1};
  const attn::ConstTensor repeated(key.data(), shape, strides);
  attn::scaled_dot_product_attention({query.data(), {3, 4, 8}}, repeated, repeated,
                                     {output.data(), {3, 4, 8}}, {}, context());
  const attn::ConstTensor keys(key.data(), {5, 8});
  attn::scaled_dot_product_attention({query.data() + 32, {4, 8}}, keys, keys,
                                     {single.data(), {4, 8}}, {}, context());
  EXPECT_TRUE(same_bits({output.begin() + 32, output.begin() + 64}, single));
}

// ---- Scale, softcap, bias

TEST_P(ScaledDotProductAttentionTest, scale_defaults_to_one_over_root_of_the_head_dimension) {
  Random random;
  AttentionProblem p({.num_queries = 4, .num_keys = 9, .head_dim = 16, .value_dim = 3}, random);
  const AttentionOutputs by_default = attend(p, context());
  p.scale = 0.25F;
  EXPECT_TRUE(same_bits(attend(p, context()).output, by_default.output));
}

TEST_P(ScaledDotProductAttentionTest, any_finite_scale_is_applied) {
  Random random;
  for (const float scale : {0.0F, 1.0F, -0.7F, 3.0F}) {
    AttentionProblem p({.num_queries = 5, .num_keys = 18, .head_dim = 6, .value_dim = 4}, random);
    p.scale = scale;
    SCOPED_TRACE(scale);
    expect_matches_reference(p, context());
  }
}

TEST_P(ScaledDotProductAttentionTest, softcap_bounds_the_scores) {
  Random random;
  AttentionProblem p({.num_queries = 50, .num_keys = 270, .head_dim = 16, .value_dim = 4}, random);
  p.scale = 4.0F;
  p.softcap = 2.5F;
  const AttentionOutputs got = attend(p, context());
  EXPECT_THAT(got.capped_scores,
              ::testing::Each(::testing::AllOf(::testing::Ge(-2.5F), ::testing::Le(2.5F))));
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, softcap_tames_infinite_scores) {
  Random random;
  for (const std::int64_t num_queries : {1, 5}) {
    AttentionProblem p({.num_queries = num_queries, .num_keys = 40, .head_dim = 1, .value_dim = 3},
                       random);
    p.softcap = 2.0F;
    p.key[3] = kInfinity;
    p.key[17] = -kInfinity;
    p.key[31] = 3e38F;
    const AttentionOutputs got = attend(p, context());
    const reference::AttentionResult exact = p.expected();
    for (std::size_t i = 0; i < got.capped_scores.size(); ++i) {
      ASSERT_NEAR(got.capped_scores[i], exact.capped_scores.values[i], 1e-6) << i;
      ASSERT_NEAR(got.weights[i], exact.weights.values[i], 1e-6) << i;
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, softcap_is_applied_before_the_bias) {
  Random random;
  AttentionProblem p({.num_queries = 5, .num_keys = 7, .head_dim = 4, .value_dim = 4}, random);
  p.softcap = 1.0F;
  p.bias_shape = {5, 7};
  p.bias = random.uniforms(35, 5, 10);  // far beyond the cap
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, bias_and_mask_of_every_broadcastable_shape) {
  Random random;
  const AttentionSizes sizes{.batch = 2,
                             .query_heads = 3,
                             .key_heads = 3,
                             .num_queries = 7,
                             .num_keys = 260,
                             .head_dim = 4,
                             .value_dim = 5};
  const std::vector<std::vector<std::int64_t>> shapes{
      {1},          {260},          {7, 1},       {1, 260},       {7, 260},       {3, 7, 260},
      {1, 7, 260},  {3, 1, 260},    {3, 7, 1},    {2, 3, 7, 260}, {2, 1, 1, 260}, {2, 1, 7, 1},
      {1, 3, 7, 1}, {2, 3, 1, 260}, {1, 1, 1, 1}, {2, 1, 7, 260}};
  for (const auto& shape : shapes) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    AttentionProblem biased(sizes, random);
    biased.bias_shape = shape;
    biased.bias = random.normals(AttentionProblem::count(shape));
    expect_matches_reference(biased, context());

    AttentionProblem masked(sizes, random);
    masked.mask_shape = shape;
    for (std::int64_t i = 0; i < AttentionProblem::count(shape); ++i) {
      masked.mask.push_back(random.chance(0.7) ? static_cast<std::uint8_t>(random.integer(1, 255))
                                               : 0);
    }
    expect_matches_reference(masked, context());
  }
}

TEST_P(ScaledDotProductAttentionTest, a_mask_of_rank_0_applies_to_all) {
  const std::vector<float> query{1, 2}, key{3, 4}, value{5};
  const std::uint8_t no = 0;
  float output = 9;
  attn::AttentionOptions options;
  options.mask = attn::ConstMask(&no, {});
  attn::scaled_dot_product_attention({query.data(), {1, 2}}, {key.data(), {1, 2}},
                                     {value.data(), {1, 1}}, {&output, {1, 1}}, options, context());
  EXPECT_EQ(output, 0.0F);
}

TEST_P(ScaledDotProductAttentionTest, minus_infinity_in_the_bias_excludes) {
  Random random;
  AttentionProblem p({.num_queries = 50, .num_keys = 261, .head_dim = 8, .value_dim = 6}, random);
  p.bias_shape = {50, 261};
  p.bias = random.normals(50 * 261);
  p.mask_shape = p.bias_shape;
  for (float& b : p.bias) {
    if (random.chance(0.3)) b = -kInfinity;
  }
  std::fill_n(p.bias.begin() + 49 * 261, 261, -kInfinity);  // a row with nothing to attend to
  expect_matches_reference(p, context());

  const AttentionOutputs by_bias = attend(p, context());
  for (float& b : p.bias) {
    p.mask.push_back(b != -kInfinity);
    if (b == -kInfinity) b = 0;
  }
  const AttentionOutputs by_mask = attend(p, context());
  EXPECT_TRUE(same_bits(by_bias.output, by_mask.output));
  EXPECT_TRUE(same_bits(by_bias.weights, by_mask.weights));
}

// ---- Exclusion

TEST_P(ScaledDotProductAttentionTest, causal_order_follows_every_diagonal) {
  Random random;
  for (const auto& [num_queries, num_keys] :
       {std::pair{60, 60}, std::pair{60, 300}, std::pair{300, 60}, std::pair{1, 270}}) {
    for (const Diagonal diagonal :
         {Diagonal::top_left(), Diagonal::bottom_right(), Diagonal::offset(5), Diagonal::offset(-5),
          Diagonal::offset(1000), Diagonal::offset(-1000), Diagonal::offset(256),
          Diagonal::offset(255)}) {
      AttentionProblem p(
          {.num_queries = num_queries, .num_keys = num_keys, .head_dim = 4, .value_dim = 3},
          random);
      p.causal = diagonal;
      SCOPED_TRACE(std::to_string(num_queries) + " × " + std::to_string(num_keys) + ", offset " +
                   std::to_string(diagonal.resolve(num_queries, num_keys)));
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, huge_offsets_and_windows_do_not_overflow) {
  Random random;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  AttentionProblem p({.num_queries = 9, .num_keys = 12, .head_dim = 4, .value_dim = 3}, random);
  const AttentionOutputs everything = attend(p, context());
  p.causal = Diagonal::offset(kMax);
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.causal = Diagonal::offset(kMin);
  EXPECT_THAT(attend(p, context()).output, ::testing::Each(0.0F));
  p.causal.reset();
  p.window = Window{kMax, kMax, Diagonal::offset(3)};
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.window = Window{0, kMax, Diagonal::offset(kMin)};
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.window = Window{5, 5, Diagonal::offset(kMax)};
  EXPECT_THAT(attend(p, context()).output, ::testing::Each(0.0F));
}

TEST_P(ScaledDotProductAttentionTest, window_limits_both_sides) {
  Random random;
  using Side = std::optional<std::int64_t>;
  for (const Side left : {Side{}, Side{0}, Side{3}, Side{260}}) {
    for (const Side right : {Side{}, Side{0}, Side{2}, Side{260}}) {
      for (const Diagonal diagonal :
           {Diagonal::top_left(), Diagonal::bottom_right(), Diagonal::offset(-70)}) {
        AttentionProblem p({.num_queries = 130, .num_keys = 530, .head_dim = 3, .value_dim = 2},
                           random);
        p.window = Window{left, right, diagonal};
        SCOPED_TRACE("left " + std::to_string(left.value_or(-1)) + ", right " +
                     std::to_string(right.value_or(-1)) + ", offset " +
                     std::to_string(diagonal.resolve(130, 530)));
        expect_matches_reference(p, context());
      }
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, valid_lengths_per_batch_entry) {
  Random random;
  AttentionProblem p({.batch = 6,
                      .query_heads = 2,
                      .key_heads = 1,
                      .num_queries = 7,
                      .num_keys = 270,
                      .head_dim = 4,
                      .value_dim = 5},
                     random);
  p.valid_lens = {0, 1, 255, 256, 257, 270};
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, valid_lengths_per_query) {
  Random random;
  AttentionProblem p({.batch = 3,
                      .query_heads = 2,
                      .key_heads = 2,
                      .num_queries = 60,
                      .num_keys = 270,
                      .head_dim = 4,
                      .value_dim = 5},
                     random);
  for (int i = 0; i < 180; ++i) {
    p.valid_lens.push_back(
        static_cast<std::int32_t>(random.chance(0.2) ? 0 : random.integer(0, 270)));
  }
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, fully_masked_row_is_zero) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.mask_shape = {60, 1};
  for (int i = 0; i < 60; ++i) p.mask.push_back(i % 3 != 0);
  const AttentionOutputs got = attend(p, context());
  for (std::int64_t row = 0; row < 2 * 4 * 60; ++row) {
    if (row % 60 % 3 != 0) continue;
    const auto r = static_cast<std::size_t>(row);
    EXPECT_EQ(got.log_sum_exp[r], -kInfinity);
    for (std::size_t c = 0; c < 12; ++c) ASSERT_EQ(got.output[r * 12 + c], 0.0F);
    for (std::size_t j = 0; j < 300; ++j) ASSERT_EQ(got.weights[r * 300 + j], 0.0F);
  }
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, all_options_together) {
  Random random;
  // Options composed at random; sizes around the tiles of every instruction set.
  const std::vector<std::int64_t> queries{1, 2, 5, 13, 47, 48, 49, 57, 100};
  const std::vector<std::int64_t> keys{1, 3, 16, 31, 100, 255, 256, 257, 300, 520};
  const std::vector<std::int64_t> dims{1, 2, 3, 7, 16, 17, 20, 33, 64};
  const auto pick = [&](const std::vector<std::int64_t>& from) {
    return from[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(from.size()) - 1))];
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t key_heads = random.integer(1, 3);
    const AttentionSizes sizes{.batch = random.integer(1, 3),
                               .query_heads = key_heads * random.integer(1, 3),
                               .key_heads = key_heads,
                               .num_queries = pick(queries),
                               .num_keys = pick(keys),
                               .head_dim = pick(dims),
                               .value_dim = pick(dims)};
    AttentionProblem p(sizes, random);
    std::string trace = "round " + std::to_string(round) + ": shape of scores " +
                        ::testing::PrintToString(p.score_shape()) + ", dims " +
                        std::to_string(sizes.head_dim) + " and " + std::to_string(sizes.value_dim);
    const auto random_shape = [&] {
      std::vector<std::int64_t> shape = p.score_shape();
      for (std::int64_t& size : shape) {
        if (random.chance(0.4)) size = 1;
      }
      shape.erase(shape.begin(), shape.begin() + random.integer(0, 3));
      return shape;
    };
    const auto random_diagonal = [&] {
      if (random.chance(0.3)) return Diagonal::top_left();
      if (random.chance(0.4)) return Diagonal::bottom_right();
      return Diagonal::offset(random.integer(-sizes.num_queries, sizes.num_keys));
    };
    const auto random_side = [&]() -> std::optional<std::int64_t> {
      if (random.chance(0.3)) return std::nullopt;
      return random.integer(0, sizes.num_keys);
    };
    if (random.chance(0.5)) p.scale = random.uniform(-1, 1);
    if (random.chance(0.4)) p.softcap = random.uniform(0.5, 5);
    if (random.chance(0.5)) {
      p.bias_shape = random_shape();
      p.bias = random.normals(AttentionProblem::count(p.bias_shape), 3);
      for (float& b : p.bias) {
        if (random.chance(0.05)) b = -kInfinity;
      }
      trace += ", bias " + ::testing::PrintToString(p.bias_shape);
    }
    if (random.chance(0.5)) {
      p.mask_shape = random_shape();
      for (std::int64_t i = 0; i < AttentionProblem::count(p.mask_shape); ++i) {
        p.mask.push_back(random.chance(0.8));
      }
      trace += ", mask " + ::testing::PrintToString(p.mask_shape);
    }
    if (random.chance(0.4)) p.causal = random_diagonal();
    if (random.chance(0.4)) p.window = Window{random_side(), random_side(), random_diagonal()};
    if (random.chance(0.5)) {
      const std::int64_t count = sizes.batch * (random.chance(0.5) ? 1 : sizes.num_queries);
      for (std::int64_t i = 0; i < count; ++i) {
        p.valid_lens.push_back(static_cast<std::int32_t>(random.integer(0, sizes.num_keys)));
      }
      trace += ", " + std::to_string(count) + " valid lengths";
    }
    p.layout = static_cast<Layout>(random.integer(0, 4));
    trace += ", layout " + std::to_string(static_cast<int>(p.layout));
    SCOPED_TRACE(trace);
    expect_matches_reference(p, context());
    if (HasFailure()) break;
  }
}

// ---- NaN and infinity

/// A problem in which `poisoned` keys and values hold NaN and infinities, and must not matter.
class Poison {
 public:
  static constexpr float kPoisons[] = {kNaN, kInfinity, -kInfinity};

  /// Fills key and value rows [from, to) of every batch entry and head.
  static void spill(AttentionProblem& p, std::int64_t from, std::int64_t to, float what) {
    const AttentionSizes& s = p.sizes;
    for (std::int64_t head = 0; head < s.batch * s.key_heads; ++head) {
      for (std::int64_t j = from; j < to; ++j) {
        const std::int64_t row = head * s.num_keys + j;
        std::fill_n(p.key.begin() + row * s.head_dim, s.head_dim, what);
        std::fill_n(p.value.begin() + row * s.value_dim, s.value_dim, what);
      }
    }
  }
};

TEST_P(ScaledDotProductAttentionTest, nothing_leaks_from_beyond_the_valid_length) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.valid_lens = {251, 40};
  const AttentionOutputs clean = attend(p, context());
  for (const float poison : Poison::kPoisons) {
    AttentionProblem poisoned = p;
    Poison::spill(poisoned, 251, 300, poison);
    const AttentionOutputs got =
        attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
    EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
    EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
    EXPECT_TRUE(same_bits(got.log_sum_exp, clean.log_sum_exp)) << poison;
  }
}

TEST_P(ScaledDotProductAttentionTest, nothing_leaks_from_masked_keys) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.mask_shape = {300};
  for (int j = 0; j < 300; ++j) p.mask.push_back(j % 7 != 3 && j < 290);
  const AttentionOutputs clean = attend(p, context());
  for (const float poison : Poison::kPoisons) {
    AttentionProblem poisoned = p;
    for (int j = 3; j < 300; j += 7) Poison::spill(poisoned, j, j + 1, poison);
    Poison::spill(poisoned, 290, 300, poison);
    const AttentionOutputs got =
        attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
    EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
    EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
    EXPECT_TRUE(same_bits(got.log_sum_exp, clean.log_sum_exp)) << poison;
  }
}

TEST_P(ScaledDotProductAttentionTest, nothing_leaks_from_keys_with_a_bias_of_minus_infinity) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.softcap = 3.0F;
  p.bias_shape = {300};
  for (int j = 0; j < 300; ++j) p.bias.push_back(j % 5 == 2 ? -kInfinity : random.normal());
  const AttentionOutputs clean = attend(p, context());
  for (const float poison : Poison::kPoisons) {
    AttentionProblem poisoned = p;
    for (int j = 2; j < 300; j += 5) Poison::spill(poisoned, j, j + 1, poison);
    const AttentionOutputs got =
        attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
    EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
    EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
    EXPECT_TRUE(same_bits(got.log_sum_exp, clean.log_sum_exp)) << poison;
  }
}

TEST_P(ScaledDotProductAttentionTest, nothing_leaks_from_the_future) {
  Random random;
  AttentionProblem p({.query_heads = 2,
                      .key_heads = 2,
                      .num_queries = 300,
                      .num_keys = 300,
                      .head_dim = 8,
                      .value_dim = 9},
                     random);
  p.causal = Diagonal::top_left();
  const AttentionOutputs clean = attend(p, context());
  for (const std::int64_t from : {1, 49, 255, 256, 280}) {
    for (const float poison : Poison::kPoisons) {
      AttentionProblem poisoned = p;
      Poison::spill(poisoned, from, 300, poison);
      const AttentionOutputs got =
          attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 300; ++i) {
          for (std::int64_t c = 0; c < 9; ++c) {
            const auto at = static_cast<std::size_t>((h * 300 + i) * 9 + c);
            if (i < from) {
              ASSERT_EQ(got.output[at], clean.output[at])
                  << poison << " from " << from << " at " << i;
            } else {
              ASSERT_FALSE(std::isfinite(got.output[at]))
                  << poison << " from " << from << " at " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, nothing_leaks_from_outside_the_window) {
  Random random;
  AttentionProblem p({.num_queries = 40, .num_keys = 600, .head_dim = 8, .value_dim = 4}, random);
  p.window = Window{10, 5, Diagonal::offset(270)};
  const AttentionOutputs clean = attend(p, context());
  for (const float poison : Poison::kPoisons) {
    AttentionProblem poisoned = p;
    Poison::spill(poisoned, 0, 260, poison);
    Poison::spill(poisoned, 270 + 39 + 5 + 1, 600, poison);
    const AttentionOutputs got =
        attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
    EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
    EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
  }
}

TEST_P(ScaledDotProductAttentionTest, a_fully_masked_row_of_poison_is_zero) {
  for (const float poison : Poison::kPoisons) {
    const std::vector<float> query{poison, 1}, key{poison, poison, 1, poison}, value{poison, 2};
    const std::vector<std::int32_t> valid_lens{0};
    std::vector<float> output{9}, weights{9, 9};
    float log_sum_exp = 9;
    attn::AttentionOptions options;
    options.valid_lens = {valid_lens.data(), {1}};
    options.weights = {weights.data(), {1, 1, 1, 2}};
    options.log_sum_exp = {&log_sum_exp, {1, 1, 1}};
    attn::scaled_dot_product_attention({query.data(), {1, 2}}, {key.data(), {2, 2}},
                                       {value.data(), {2, 1}}, {output.data(), {1, 1}}, options,
                                       context());
    EXPECT_EQ(output[0], 0.0F);
    EXPECT_THAT(weights, ::testing::Each(0.0F));
    EXPECT_EQ(log_sum_exp, -kInfinity);
  }
}

TEST_P(ScaledDotProductAttentionTest, nan_in_what_is_attended_reaches_the_output) {
  Random random;
  const AttentionSizes sizes{.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5};
  for (const std::int64_t at : {0, 1, 17, 255, 256, 299}) {
    SCOPED_TRACE(at);
    AttentionProblem p(sizes, random);
    p.key[static_cast<std::size_t>(at * 9 + 4)] = kNaN;
    AttentionOutputs got = attend(p, context());
    EXPECT_THAT(got.output, ::testing::Each(::testing::IsNan()));
    EXPECT_THAT(got.weights, ::testing::Each(::testing::IsNan()));
    EXPECT_THAT(got.log_sum_exp, ::testing::Each(::testing::IsNan()));

    // A value spoils its own column only.
    p = AttentionProblem(sizes, random);
    p.value[static_cast<std::size_t>(at * 5 + 2)] = kNaN;
    got = attend(p, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      ASSERT_EQ(std::isnan(got.output[i]), i % 5 == 2) << i;
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, nan_in_a_query_spoils_its_own_row_only) {
  Random random;
  AttentionProblem p({.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5}, random);
  const AttentionOutputs clean = attend(p, context());
  for (const std::size_t row : {0U, 13U, 59U}) {
    AttentionProblem poisoned = p;
    poisoned.query[row * 9 + 3] = kNaN;
    const AttentionOutputs got = attend(poisoned, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      if (i / 5 == row) {
        ASSERT_TRUE(std::isnan(got.output[i])) << i;
      } else {
        ASSERT_EQ(got.output[i], clean.output[i]) << i;
      }
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, weights_of_excluded_keys_are_zero_beside_nan) {
  const std::vector<float> query{1}, key{kNaN, 1, 2}, value{1, 2, 3};
  const std::vector<std::uint8_t> mask{1, 1, 0};
  std::vector<float> output(1), weights(3, 9);
  attn::AttentionOptions options;
  options.mask = {mask.data(), {3}};
  options.weights = {weights.data(), {1, 1, 1, 3}};
  attn::scaled_dot_product_attention({query.data(), {1, 1}}, {key.data(), {3, 1}},
                                     {value.data(), {3, 1}}, {output.data(), {1, 1}}, options,
                                     context());
  EXPECT_TRUE(std::isnan(output[0]));
  EXPECT_TRUE(std::isnan(weights[0]));
  EXPECT_TRUE(std::isnan(weights[1]));
  EXPECT_EQ(weights[2], 0.0F);
}

TEST_P(ScaledDotProductAttentionTest, excluded_keys_have_weight_0_beside_attended_nan) {
  for (const std::int64_t queries : {1, 20, 108}) {
    Random random;
    AttentionProblem p({.num_queries = queries, .num_keys = 40, .head_dim = 4, .value_dim = 3},
                       random);
    p.key[7 * 4 + 1] = kNaN;
    p.mask_shape = {40};
    p.mask.assign(40, 1);
    p.mask[5] = p.mask[39] = 0;
    expect_matches_reference(p, context());
  }
}

TEST_P(ScaledDotProductAttentionTest, infinite_values_are_passed_on) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 40, .head_dim = 4, .value_dim = 3}, random);
  p.value[7 * 3 + 1] = kInfinity;
  p.value[30 * 3 + 2] = -kInfinity;
  p.mask_shape = {20, 40};
  p.mask.assign(800, 1);
  for (std::size_t i = 0; i < 20; i += 2) p.mask[i * 40 + 7] = 0;  // even rows do not see the first
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, a_row_done_again_for_an_excluded_nan_keeps_its_bits) {
  Random random;
  AttentionProblem p({.num_queries = 60, .num_keys = 700, .head_dim = 8, .value_dim = 17}, random);
  p.mask_shape = {700};
  p.mask.assign(700, 1);
  for (const std::size_t j : {5U, 256U, 699U}) p.mask[j] = 0;
  const AttentionOutputs clean = attend(p, context());
  for (const std::size_t j : {5U, 256U, 699U}) p.value[j * 17 + 3] = kNaN;
  EXPECT_TRUE(same_bits(attend(p, context()).output, clean.output));
}

// ---- Same bits

TEST_P(ScaledDotProductAttentionTest, any_number_of_threads_gives_the_same_bits) {
  Random random;
  AttentionProblem p({.batch = 2,
                      .query_heads = 4,
                      .key_heads = 2,
                      .num_queries = 150,
                      .num_keys = 600,
                      .head_dim = 20,
                      .value_dim = 12},
                     random);
  p.causal = Diagonal::bottom_right();
  p.valid_lens = {600, 333};
  const AttentionOutputs one = attend(p, context(1));
  for (const int threads : {2, 3, 5}) {
    const AttentionOutputs many = attend(p, context(threads));
    EXPECT_TRUE(same_bits(many.output, one.output)) << threads;
    EXPECT_TRUE(same_bits(many.weights, one.weights)) << threads;
    EXPECT_TRUE(same_bits(many.scaled_scores, one.scaled_scores)) << threads;
    EXPECT_TRUE(same_bits(many.log_sum_exp, one.log_sum_exp)) << threads;
  }
}

TEST_P(ScaledDotProductAttentionTest, asking_for_more_outputs_keeps_the_bits) {
  Random random;
  AttentionProblem p = grouped_problem(random);
  p.softcap = 4.0F;
  p.causal = Diagonal::bottom_right();
  const AttentionOutputs plain = attend(p, context(), {});
  for (const AttentionWants& wants :
       {AttentionWants{.scores = true}, AttentionWants{.weights = true},
        AttentionWants{.log_sum_exp = true}, AttentionWants{true, true, true}}) {
    EXPECT_TRUE(same_bits(attend(p, context(), wants).output, plain.output));
  }
}

TEST_P(ScaledDotProductAttentionTest, a_sequence_has_the_same_bits_alone_and_in_any_batch) {
  Random random;
  AttentionProblem batch({.batch = 5,
                          .query_heads = 4,
                          .key_heads = 2,
                          .num_queries = 61,
                          .num_keys = 300,
                          .head_dim = 20,
                          .value_dim = 12},
                         random);
  batch.valid_lens = {300, 1, 255, 299, 17};
  // Neighbours full of trouble change nothing.
  std::fill_n(batch.key.begin(), 100, kNaN);
  std::fill_n(batch.value.begin() + 100, 100, kInfinity);
  const AttentionOutputs together = attend(batch, context());
  for (std::int64_t b = 1; b < 5; ++b) {
    AttentionProblem alone = batch;
    alone.sizes.batch = 1;
    const auto cut = [&](std::vector<float>& all) {
      const auto each = static_cast<std::ptrdiff_t>(all.size() / 5);
      all = {all.begin() + b * each, all.begin() + (b + 1) * each};
    };
    cut(alone.query);
    cut(alone.key);
    cut(alone.value);
    alone.valid_lens = {batch.valid_lens[static_cast<std::size_t>(b)]};
    AttentionOutputs part = together;
    cut(part.output);
    cut(part.weights);
    const AttentionOutputs got = attend(alone, context());
    EXPECT_TRUE(same_bits(got.output, part.output)) << b;
    EXPECT_TRUE(same_bits(got.weights, part.weights)) << b;
  }
}

TEST_P(ScaledDotProductAttentionTest, padding_at_the_end_keeps_the_bits) {
  Random random;
  AttentionProblem padded({.num_queries = 30, .num_keys = 700, .head_dim = 20, .value_dim = 12},
                          random);
  for (const std::int32_t length : {1, 5, 16, 200, 256, 257, 300, 511}) {
    padded.valid_lens = {length};
    AttentionProblem cut = padded;
    cut.valid_lens.clear();
    cut.sizes.num_keys = length;
    cut.key.resize(static_cast<std::size_t>(length * 20));
    cut.value.resize(static_cast<std::size_t>(length * 12));
    EXPECT_TRUE(same_bits(attend(padded, context()).output, attend(cut, context()).output))
        << length;
  }
}

TEST_P(ScaledDotProductAttentionTest, a_query_has_the_same_bits_whatever_others_there_are) {
  // Two at a time: a query that is alone reads its keys in another way.
  Random random;
  AttentionProblem all({.num_queries = 130, .num_keys = 300, .head_dim = 20, .value_dim = 12},
                       random);
  all.causal = Diagonal::bottom_right();
  const AttentionOutputs together = attend(all, context());
  for (const std::int64_t i : {0, 1, 46, 47, 55, 111, 128}) {
    AttentionProblem two = all;
    two.sizes.num_queries = 2;
    two.query = {all.query.begin() + i * 20, all.query.begin() + (i + 2) * 20};
    two.causal = Diagonal::offset(300 - 130 + i);
    EXPECT_TRUE(same_bits(attend(two, context()).output, {together.output.begin() + i * 12,
                                                          together.output.begin() + (i + 2) * 12}))
        << i;
  }
}

// ---- Properties

TEST_P(ScaledDotProductAttentionTest, grouped_heads_equal_repeated_heads) {
  Random random;
  AttentionProblem grouped = grouped_problem(random);
  AttentionProblem repeated = grouped;
  repeated.sizes.key_heads = 4;
  repeated.key.clear();
  repeated.value.clear();
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 4; ++h) {
      const std::int64_t head = b * 2 + h / 2;
      repeated.key.insert(repeated.key.end(), grouped.key.begin() + head * 300 * 20,
                          grouped.key.begin() + (head + 1) * 300 * 20);
      repeated.value.insert(repeated.value.end(), grouped.value.begin() + head * 300 * 12,
                            grouped.value.begin() + (head + 1) * 300 * 12);
    }
  }
  EXPECT_TRUE(same_bits(attend(grouped, context()).output, attend(repeated, context()).output));
}

TEST_P(ScaledDotProductAttentionTest, shuffled_queries_give_equally_shuffled_outputs) {
  Random random;
  AttentionProblem p({.num_queries = 75, .num_keys = 75, .head_dim = 20, .value_dim = 12}, random);
  std::vector<std::size_t> order(75);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine());
  AttentionProblem shuffled = p;
  for (std::size_t i = 0; i < 75; ++i) {
    std::copy_n(p.query.begin() + static_cast<std::ptrdiff_t>(order[i] * 20), 20,
                shuffled.query.begin() + static_cast<std::ptrdiff_t>(i * 20));
  }
  const AttentionOutputs straight = attend(p, context()), mixed = attend(shuffled, context());
  for (std::size_t i = 0; i < 75; ++i) {
    for (std::size_t c = 0; c < 12; ++c) {
      ASSERT_EQ(mixed.output[i * 12 + c], straight.output[order[i] * 12 + c]);
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, the_order_of_keys_and_values_does_not_matter) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 300, .head_dim = 20, .value_dim = 12}, random);
  const reference::AttentionResult exact = p.expected();
  std::vector<std::size_t> order(300);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine());
  AttentionProblem shuffled = p;
  for (std::size_t j = 0; j < 300; ++j) {
    std::copy_n(p.key.begin() + static_cast<std::ptrdiff_t>(order[j] * 20), 20,
                shuffled.key.begin() + static_cast<std::ptrdiff_t>(j * 20));
    std::copy_n(p.value.begin() + static_cast<std::ptrdiff_t>(order[j] * 12), 12,
                shuffled.value.begin() + static_cast<std::ptrdiff_t>(j * 12));
  }
  EXPECT_TRUE(is_within(attend(shuffled, context()).output, exact.output, exact.output_error));
}

TEST_P(ScaledDotProductAttentionTest, outputs_lie_within_the_hull_of_the_values) {
  Random random;
  for (const float spread : {0.01F, 1.0F, 100.0F, 10000.0F}) {
    AttentionProblem p({.num_queries = 50, .num_keys = 300, .head_dim = 8, .value_dim = 6}, random);
    p.scale = spread;
    for (float& v : p.value) v = 3 + random.uniform(0, 1);
    const AttentionOutputs got = attend(p, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      float low = kInfinity, high = -kInfinity;
      for (std::size_t j = 0; j < 300; ++j) {
        low = std::min(low, p.value[j * 6 + i % 6]);
        high = std::max(high, p.value[j * 6 + i % 6]);
      }
      // Rounding of 300 weights that sum to 1: at most 300 units in the last place of 4.
      const float slack = 300 * 4 * 0x1p-24F;
      ASSERT_GE(got.output[i], low - slack);
      ASSERT_LE(got.output[i], high + slack);
    }
  }
}

TEST_P(ScaledDotProductAttentionTest, weights_sum_to_one) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 600, .head_dim = 8, .value_dim = 1}, random);
  p.causal = Diagonal::offset(300);
  const AttentionOutputs got = attend(p, context());
  for (std::size_t i = 0; i < 20; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 600; ++j) sum += got.weights[i * 600 + j];
    EXPECT_NEAR(sum, 1.0, 600 * 0x1p-24);
  }
}

TEST_P(ScaledDotProductAttentionTest, scores_of_ten_thousand_are_no_trouble) {
  Random random;
  for (const float size : {100.0F, 1e4F, 1e6F}) {
    AttentionProblem p({.num_queries = 50, .num_keys = 600, .head_dim = 1, .value_dim = 4}, random);
    p.scale = 1.0F;
    for (float& q : p.query) q = random.chance(0.5) ? 1.0F : -1.0F;
    for (float& k : p.key) k = random.uniform(-size, size);
    const AttentionOutputs got = attend(p, context());
    EXPECT_THAT(got.output,
                ::testing::Each(::testing::Truly([](float x) { return std::isfinite(x); })));
    // Products with ±1 are exact: the weights are too, but for the exponential.
    expect_matches_reference(p, context());
  }
}

TEST_P(ScaledDotProductAttentionTest, growing_scores_rescale_what_was_summed_before) {
  Random random;
  AttentionProblem p({.num_queries = 10, .num_keys = 1300, .head_dim = 1, .value_dim = 3}, random);
  p.scale = 1.0F;
  for (float& q : p.query) q = 1.0F;
  for (std::size_t j = 0; j < 1300; ++j) p.key[j] = static_cast<float>(j) * 0.01F;
  expect_matches_reference(p, context());
  std::reverse(p.key.begin(), p.key.end());
  expect_matches_reference(p, context());
}

TEST_P(ScaledDotProductAttentionTest, a_common_shift_of_the_scores_does_not_matter) {
  Random random;
  AttentionProblem p({.num_queries = 5, .num_keys = 40, .head_dim = 2, .value_dim = 3}, random);
  p.bias_shape = {1};
  p.bias = {-80.0F};
  expect_matches_reference(p, context());
  p.bias = {-1000.0F};
  expect_matches_reference(p, context());
}

// ---- Accuracy, as the header states it

TEST_P(ScaledDotProductAttentionTest, is_as_accurate_as_stated) {
  Random random;
  attn_test::LargestError output("attention output / (root D · max|v|)", 2.5e-6);
  attn_test::LargestError weights("attention weights / root D", 1.3e-6);
  attn_test::LargestError relative("attention weights, relative / root D", 1e-5);
  attn_test::LargestError log_sum_exp("attention log-sum-exp / root D", 3e-6);
  for (const std::int64_t dim : {1, 2, 8, 20, 64, 128, 256}) {
    for (const std::int64_t num_keys : {1, 5, 64, 600}) {
      for (const float deviation : {0.1F, 1.0F, 6.0F}) {
        AttentionProblem p(
            {.num_queries = 30, .num_keys = num_keys, .head_dim = dim, .value_dim = 5}, random);
        for (float& q : p.query) q *= deviation;
        const AttentionOutputs got = attend(p, context());
        const reference::AttentionResult exact = p.expected();
        const double root = std::sqrt(static_cast<double>(dim));
        float largest_value = 0;
        for (const float v : p.value) largest_value = std::max(largest_value, std::abs(v));
        for (std::size_t i = 0; i < 30; ++i) {
          const auto keys = static_cast<std::size_t>(num_keys);
          bool within_20 = true;
          for (std::size_t j = i * keys; j < (i + 1) * keys; ++j) {
            within_20 &= std::abs(exact.scaled_scores.values[j]) <= 20;
          }
          if (!within_20) continue;
          for (std::size_t j = i * keys; j < (i + 1) * keys; ++j) {
            weights.add((got.weights[j] - exact.weights.values[j]) / root);
            relative.add((got.weights[j] / exact.weights.values[j] - 1) / root);
          }
          for (std::size_t c = i * 5; c < (i + 1) * 5; ++c) {
            output.add((got.output[c] - exact.output.values[c]) / root / largest_value);
          }
          log_sum_exp.add((got.log_sum_exp[i] - exact.log_sum_exp.values[i]) / root);
        }
      }
    }
  }
}

// ---- Errors

class ScaledDotProductAttentionErrorTest : public ::testing::Test {
 protected:
  /// Memory enough for every view below; no call gets as far as reading it.
  std::vector<float> memory_ = std::vector<float>(4096, 1.0F);
  std::vector<float> written_ = std::vector<float>(4096, 5.0F);
  attn::AttentionOptions options_;

  attn::ConstTensor in(std::initializer_list<std::int64_t> shape) const {
    return {memory_.data(), shape};
  }
  attn::Tensor out(std::initializer_list<std::int64_t> shape) { return {written_.data(), shape}; }

  std::string error(const attn::ConstTensor& query, const attn::ConstTensor& key,
                    const attn::ConstTensor& value, const attn::Tensor& output) {
    const std::string text = attn_test::error_of(
        [&] { attn::scaled_dot_product_attention(query, key, value, output, options_); });
    EXPECT_EQ(std::count(written_.begin(), written_.end(), 5.0F), std::ssize(written_))
        << "a failed call has written";
    return text;
  }
  /// With (B, Hq, Nq, D) = (2, 4, 3, 5), Hkv = 2, Nk = 6, Dv = 7 and the options as set.
  std::string error_of_options() {
    return error(in({2, 4, 3, 5}), in({2, 2, 6, 5}), in({2, 2, 6, 7}), out({2, 4, 3, 7}));
  }
};

TEST_F(ScaledDotProductAttentionErrorTest, ranks) {
  EXPECT_EQ(error(in({5}), in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (5), needs rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, "
            "D)");
  EXPECT_EQ(error(in({1, 1, 1, 3, 5}), in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (1, 1, 1, 3, 5), needs rank 2 (N, D), 3 (B, N, D) or "
            "4 (B, H, N, D)");
  EXPECT_EQ(error({}, in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (), needs rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, "
            "D)");
  EXPECT_EQ(error(in({3, 5}), in({1, 6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: key: got shape (1, 6, 5), needs rank 2, as query has");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({7}), out({3, 7})),
            "shape_mismatch: value: got shape (7), needs rank 2, as query has");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), out({1, 1, 3, 7})),
            "shape_mismatch: output: got shape (1, 1, 3, 7), needs rank 2, as query has");
}

TEST_F(ScaledDotProductAttentionErrorTest, sizes_that_do_not_match) {
  EXPECT_EQ(error(in({3, 5}), in({6, 4}), in({6, 7}), out({3, 7})),
            "shape_mismatch: key: head dimension 4 does not match query head dimension 5");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({5, 7}), out({3, 7})),
            "shape_mismatch: key: length 6 does not match value length 5");
  EXPECT_EQ(error(in({2, 3, 5}), in({1, 6, 5}), in({1, 6, 7}), out({2, 3, 7})),
            "shape_mismatch: key: batch 1 does not match query batch 2");
  EXPECT_EQ(error(in({2, 3, 5}), in({2, 6, 5}), in({3, 6, 7}), out({2, 3, 7})),
            "shape_mismatch: value: batch 3 does not match query batch 2");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 2, 6, 5}), in({1, 4, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: value: heads 4 does not match key heads 2");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 3, 6, 5}), in({1, 3, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: query: 4 heads are not a multiple of the 3 key heads");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 0, 6, 5}), in({1, 0, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: query: 4 heads are not a multiple of the 0 key heads");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), out({3, 5})),
            "shape_mismatch: output: got shape (3, 5), needs shape (3, 7)");
  EXPECT_EQ(error(in({3, 0}), in({6, 0}), in({6, 7}), out({3, 7})),
            "invalid_argument: query: got 0, needs a head dimension of at least 1");
}

TEST_F(ScaledDotProductAttentionErrorTest, missing_memory) {
  EXPECT_EQ(error({nullptr, {3, 5}}, in({6, 5}), in({6, 7}), out({3, 7})),
            "invalid_argument: query: data is null");
  EXPECT_EQ(error(in({3, 5}), {nullptr, {6, 5}}, in({6, 7}), out({3, 7})),
            "invalid_argument: key: data is null");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), {nullptr, {6, 7}}, out({3, 7})),
            "invalid_argument: value: data is null");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), {nullptr, {3, 7}}),
            "invalid_argument: output: data is null");
  options_.mask = {nullptr, {3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: mask: data is null");
  options_ = {};
  options_.bias = {nullptr, {3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: bias: data is null");
  options_ = {};
  options_.valid_lens = {nullptr, {2}};
  EXPECT_EQ(error_of_options(), "invalid_argument: valid_lens: data is null");
  options_ = {};
  options_.weights = {nullptr, {2, 4, 3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: weights: data is null");
}

TEST_F(ScaledDotProductAttentionErrorTest, scale_and_softcap) {
  options_.scale = kNaN;
  EXPECT_EQ(error_of_options(), "invalid_argument: scale: got nan, needs a finite number");
  options_.scale = kInfinity;
  EXPECT_EQ(error_of_options(), "invalid_argument: scale: got inf, needs a finite number");
  options_ = {};
  options_.softcap = -1;
  EXPECT_EQ(error_of_options(),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above it");
  options_.softcap = kNaN;
  EXPECT_EQ(error_of_options(),
            "invalid_argument: softcap: got nan, needs 0 (none) or a finite number above it");
}

TEST_F(ScaledDotProductAttentionErrorTest, window) {
  options_.window = Window{-1, 2};
  EXPECT_EQ(error_of_options(), "invalid_argument: window: got -1, needs 0 or more keys to a side");
  options_.window = Window{{}, -3};
  EXPECT_EQ(error_of_options(), "invalid_argument: window: got -3, needs 0 or more keys to a side");
}

TEST_F(ScaledDotProductAttentionErrorTest, mask_and_bias_that_do_not_broadcast) {
  const std::vector<std::uint8_t> bytes(1000, 1);
  options_.mask = {bytes.data(), {3, 7}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: mask: got shape (3, 7), needs a shape that broadcasts to (2, 4, 3, "
            "6)");
  options_.mask = {bytes.data(), {1, 2, 4, 3, 6}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: mask: got shape (1, 2, 4, 3, 6), needs a shape that broadcasts to (2, "
            "4, 3, 6)");
  options_ = {};
  options_.bias = in({2, 3, 6});
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: bias: got shape (2, 3, 6), needs a shape that broadcasts to (2, 4, 3, "
            "6)");
}

TEST_F(ScaledDotProductAttentionErrorTest, valid_lengths) {
  const std::vector<std::int32_t> too_long{6, 7}, negative{-1, 6}, fine(100, 1);
  options_.valid_lens = {too_long.data(), {2}};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: valid_lens: got 7, needs a length between 0 and the 6 keys");
  options_.valid_lens = {negative.data(), {2}};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: valid_lens: got -1, needs a length between 0 and the 6 keys");
  options_.valid_lens = {fine.data(), {3}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (3), needs shape (2) or (2, 3)");
  options_.valid_lens = {fine.data(), {2, 4}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (2, 4), needs shape (2) or (2, 3)");
  options_.valid_lens = {fine.data(), {2, 3, 1}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (2, 3, 1), needs shape (2) or (2, 3)");
}

TEST_F(ScaledDotProductAttentionErrorTest, further_outputs_of_the_wrong_shape) {
  const char* const needs = ", needs shape (2, 4, 3, 6)";
  options_.scaled_scores = out({2, 4, 3, 5});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: scaled_scores: got shape (2, 4, 3, 5)") + needs);
  options_ = {};
  options_.capped_scores = out({3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: capped_scores: got shape (3, 6)") + needs);
  options_ = {};
  options_.biased_scores = out({1, 4, 3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: biased_scores: got shape (1, 4, 3, 6)") + needs);
  options_ = {};
  options_.weights = out({2, 2, 3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: weights: got shape (2, 2, 3, 6)") + needs);
  options_ = {};
  options_.log_sum_exp = out({2, 4, 3, 1});
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: log_sum_exp: got shape (2, 4, 3, 1), needs shape (2, 4, 3)");
}

TEST_F(ScaledDotProductAttentionErrorTest, sizes_beyond_the_address_space) {
  // Views with stride 0 claim far more elements than there is memory; none of it may be touched.
  const auto huge = [&](std::vector<std::int64_t> shape) {
    const std::vector<std::int64_t> strides(shape.size(), 0);
    return attn::TensorView<float>(written_.data(), shape, strides);
  };
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  const auto starts_with = [](const char* text) { return ::testing::StartsWith(text); };
  EXPECT_THAT(error(huge({kBig, kBig, 1, 1}), huge({kBig, kBig, 1, 1}), huge({kBig, kBig, 1, 1}),
                    huge({kBig, kBig, 1, 1})),
              starts_with("size_overflow: query: "));
  EXPECT_THAT(error(huge({1, kBig}), huge({kBig, kBig}), huge({kBig, 1}), huge({1, 1})),
              starts_with("size_overflow: key: "));
  EXPECT_THAT(
      error(huge({1, 1}), huge({kBig / 4096, 1}), huge({kBig / 4096, kBig}), huge({1, kBig})),
      starts_with("size_overflow: value: "));
  EXPECT_THAT(error(huge({1, std::int64_t{1} << 60}), huge({1, std::int64_t{1} << 60}),
                    huge({1, 1}), huge({1, 1})),
              starts_with("size_overflow: "));
  EXPECT_THAT(error(huge({std::int64_t{1} << 32, 1}), in({1, 1}), in({1, 1}),
                    huge({std::int64_t{1} << 32, 1})),
              starts_with("size_overflow: query: "));
}

TEST_P(ScaledDotProductAttentionTest, running_out_of_memory_is_an_error_and_leaves_the_output) {
  Random random;
  const std::vector<float> x = random.normals(2 * 300 * 9);
  std::vector<float> output(x.size(), 5.0F);
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  const attn::ConstTensor in(x.data(), {2, 300, 9});
  const attn::Tensor out(output.data(), {2, 300, 9});
  // Fail the first allocation, then the second, and so on until the call needs no more.
  for (int allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 1000);
    bool failed = false;
    {
      attn_test::AllocationProbe probe;
      probe.fail_after(allowed);
      try {
        attn::scaled_dot_product_attention(in, in, in, out, {}, fresh);
      } catch (const attn::Error& error) {
        failed = true;
        EXPECT_EQ(error.code(), attn::ErrorCode::kOutOfMemory) << error.what();
        EXPECT_THAT(error.what(), ::testing::StartsWith("attention "));
        EXPECT_THAT(error.what(), ::testing::EndsWith(" bytes of scratch memory could not be had"));
      } catch (const std::bad_alloc&) {
        // Not even the message could be made.
        failed = true;
      }
    }
    if (!failed) break;
    ASSERT_THAT(output, ::testing::Each(5.0F)) << allowed;
    fresh.release_memory();
  }
  std::vector<float> again(x.size());
  attn::scaled_dot_product_attention(in, in, in, {again.data(), {2, 300, 9}}, {}, fresh);
  EXPECT_TRUE(same_bits(output, again));
}

}  // namespace
