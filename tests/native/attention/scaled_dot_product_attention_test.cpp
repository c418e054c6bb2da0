#include "attn/attention/scaled_dot_product_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attention/attention_problem.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "measure.hpp"
#include "random.hpp"

namespace {

using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::entry_of;
using attn_test::expect_matches_reference;
using attn_test::kInfinity;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

using ScaledDotProductAttentionTest = attn_test::EveryInstructionSet;
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

// A single query over keys with a column stride of 1 takes a separate path, which processes keys in
// blocks of 512.
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
  for (std::int64_t b = 0; b < 3; ++b) {
    EXPECT_TRUE(same_bits(attend(entry_of(batch, b), context()).output,
                          entry_of(together, batch.sizes, b).output))
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
  AttentionProblem p = attn_test::grouped_problem(random);
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

  // Compares the output with one call per head, each on a copy of that head.
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

// ---- Accuracy as stated in the header

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

// ---- Memory

TEST_P(ScaledDotProductAttentionTest, running_out_of_memory_leaves_the_output) {
  Random random;
  const std::vector<float> x = random.normals(2 * 300 * 9);
  std::vector<float> output(x.size(), 5.0F);
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  const attn::ConstTensor in(x.data(), {2, 300, 9});
  const attn::Tensor out(output.data(), {2, 300, 9});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] { attn::scaled_dot_product_attention(in, in, in, out, {}, fresh); },
      [&](std::int64_t allowed) {
        ASSERT_THAT(output, ::testing::Each(5.0F)) << allowed;
        fresh.release_memory();
      });
  std::vector<float> again(x.size());
  attn::scaled_dot_product_attention(in, in, in, {again.data(), {2, 300, 9}}, {}, fresh);
  EXPECT_TRUE(same_bits(output, again));
}

}  // namespace
