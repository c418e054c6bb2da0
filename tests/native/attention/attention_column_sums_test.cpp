// Tests AttentionOptions::column_sums: how much attention each key receives from all queries.
// expect_matches_reference compares column sums with the reference in many more calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "layers/transformer_layer.hpp"
#include "random.hpp"

namespace {

using attn::BFloat16;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

using ColumnSumsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(ColumnSumsTest);

/// Compares column sums with the weights of the same call, added in double precision.
void expect_sums_of_weights(const AttentionProblem& p, attn::Context& context) {
  const AttentionOutputs got = attend(p, context, {.weights = true, .column_sums = true});
  const std::int64_t queries = p.sizes.num_queries, keys = p.sizes.num_keys;
  std::size_t at = 0;
  for (std::int64_t head = 0; head < p.sizes.batch * p.sizes.query_heads; ++head) {
    for (std::int64_t j = 0; j < keys; ++j, ++at) {
      double sum = 0;
      for (std::int64_t i = 0; i < queries; ++i) {
        sum += got.weights[static_cast<std::size_t>((head * queries + i) * keys + j)];
      }
      // A part has up to 47 + ⌈Nq / 768⌉ sums, and there are up to 16 parts.
      const double roundings = 64 + static_cast<double>(queries) / 768;
      EXPECT_NEAR(got.column_sums[at], sum, roundings * 0x1p-24 * sum)
          << "head " << head << ", key " << j;
    }
  }
}

// Lengths just below, at and above a block of queries, a pass of blocks, and the number of queries
// above which the parts grow.
TEST_P(ColumnSumsTest, are_the_sums_of_the_weights) {
  Random random;
  for (const std::int64_t queries :
       {1, 2, 47, 48, 49, 63, 64, 65, 191, 192, 193, 257, 3071, 3200}) {
    for (const std::int64_t keys : {1, 5, 16, 17, 64, 130}) {
      AttentionProblem p({.num_queries = queries, .num_keys = keys, .head_dim = 3, .value_dim = 16},
                         random);
      expect_sums_of_weights(p, context());
      p.causal = true;
      expect_sums_of_weights(p, context());
    }
  }
}

TEST_P(ColumnSumsTest, match_the_reference_with_every_option) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.softcap = 3;
  p.alibi_slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
  p.t5_table = random.normals(8 * 4);
  p.bias_shape = {60, 300};
  p.bias = random.normals(60 * 300);
  p.mask_shape = {2, 1, 60, 300};
  p.mask.resize(2 * 60 * 300);
  for (std::uint8_t& element : p.mask) element = random.chance(0.5) ? 1 : 0;
  p.window = attn::Window{100, 20};
  p.diagonal = attn::Diagonal::bottom_right();
  p.key_lens = {300, 170};
  p.max_distance = 5;
  p.relative_keys = random.normals(11 * 20);
  p.relative_values = random.normals(11 * 12);
  p.sinks = random.normals(4);
  attn_test::expect_matches_reference(p, context());
  p.dropout = 0.3F;
  p.dropout_random = {.seed = 7, .stream = 3};
  attn_test::expect_matches_reference(p, context());
  expect_sums_of_weights(p, context());
}

TEST_P(ColumnSumsTest, of_excluded_keys_are_zero_and_ignore_nan_and_infinity) {
  Random random;
  for (const bool by_mask : {false, true}) {
    AttentionProblem p({.num_queries = 150, .num_keys = 200, .head_dim = 8, .value_dim = 8},
                       random);
    if (by_mask) {
      p.mask_shape = {1, 200};
      p.mask.assign(200, 1);
      std::fill(p.mask.begin() + 90, p.mask.end(), 0);
    } else {
      p.valid_lens = {90};
    }
    const std::vector<float> clean = attend(p, context(), {.column_sums = true}).column_sums;
    for (std::size_t j = 90; j < 200; ++j) {
      EXPECT_EQ(clean[j], 0.0F);
      std::fill_n(p.key.begin() + static_cast<std::ptrdiff_t>(j * 8), 8, j % 2 ? kNaN : kInfinity);
      std::fill_n(p.value.begin() + static_cast<std::ptrdiff_t>(j * 8), 8,
                  j % 2 ? kInfinity : kNaN);
    }
    EXPECT_TRUE(same_bits(attend(p, context(), {.column_sums = true}).column_sums, clean));
  }
}

TEST_P(ColumnSumsTest, are_nan_only_for_keys_of_queries_that_attend_to_nan) {
  Random random;
  AttentionProblem p({.num_queries = 150, .num_keys = 150, .head_dim = 8, .value_dim = 8}, random);
  p.window = attn::Window{0, 40};
  std::fill_n(p.key.begin() + 100 * 8, 8, kNaN);
  // Queries 60 to 100 attend to key 100, so all their weights are NaN. One or more of these queries
  // attend to each of the keys 60 to 140.
  const std::vector<float> sums = attend(p, context(), {.column_sums = true}).column_sums;
  for (std::size_t j = 0; j < 150; ++j) {
    EXPECT_EQ(std::isnan(sums[j]), j >= 60 && j <= 140) << "key " << j;
  }
}

// Tiles do not compute these queries.
TEST_P(ColumnSumsTest, include_queries_with_large_scores) {
  Random random;
  AttentionProblem p({.num_queries = 130, .num_keys = 70, .head_dim = 4, .value_dim = 4}, random);
  for (const std::size_t i : {0, 3, 47, 48, 129}) {
    for (std::size_t d = 0; d < 4; ++d) p.query[i * 4 + d] *= 3e7F;
  }
  const AttentionOutputs got = attend(p, context(), {.column_sums = true});
  double total = 0;
  for (const float sum : got.column_sums) total += sum;
  EXPECT_NEAR(total, 130, 1e-3);
  expect_sums_of_weights(p, context());
}

TEST_P(ColumnSumsTest, are_zero_without_queries_and_empty_without_keys) {
  Random random;
  AttentionProblem p(
      {.batch = 2, .query_heads = 2, .num_queries = 0, .num_keys = 70, .head_dim = 4}, random);
  EXPECT_EQ(attend(p, context(), {.column_sums = true}).column_sums,
            std::vector<float>(2 * 2 * 70, 0.0F));
  p = AttentionProblem({.num_queries = 3, .num_keys = 0, .head_dim = 4}, random);
  EXPECT_TRUE(attend(p, context(), {.column_sums = true}).column_sums.empty());
}

class Bf16ColumnSumsTest : public attn_test::EveryInstructionSet {};
INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(Bf16ColumnSumsTest);

// Calls with column sums do not multiply bfloat16 pairs.
TEST_P(Bf16ColumnSumsTest, equal_the_sums_of_the_same_numbers_in_float32) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  const auto round = [](std::vector<float>& values, const std::vector<std::int64_t>& shape) {
    const std::vector<BFloat16> stored(values.begin(), values.end());
    values.assign(stored.begin(), stored.end());
    return attn_test::HostTensor<BFloat16>(shape, stored);
  };
  const auto query = round(p.query, p.query_shape());
  const auto key = round(p.key, p.key_shape());
  const auto value = round(p.value, p.value_shape());
  auto output = attn_test::FloatTensor::filled(p.output_shape(), 77);
  auto sums = attn_test::FloatTensor::filled(p.column_shape(), 77, Layout::kSpread);
  attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(),
                                     {.column_sums = sums.view()}, context());
  EXPECT_TRUE(sums.gaps_are_untouched());
  EXPECT_TRUE(same_bits(sums.values(), attend(p, context(), {.column_sums = true}).column_sums));
}

// A cache that drops the keys with small sums adds up the sums of every call.
TEST_P(ColumnSumsTest, of_single_queries_over_a_cache_add_up) {
  Random random;
  constexpr std::int64_t kKeys = 600, kDim = 16;
  AttentionProblem p({.num_queries = 4, .num_keys = kKeys, .head_dim = kDim, .value_dim = kDim},
                     random);
  attn::KeyValueCache cache(1, 1, kDim, kDim, 0);
  cache.append(attn::ConstTensor(p.key.data(), p.key_shape()),
               attn::ConstTensor(p.value.data(), p.value_shape()));
  std::vector<double> total(kKeys);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::vector<std::int64_t> one{1, 1, 1, kDim};
    std::vector<float> output(kDim), sums(kKeys, 77.0F);
    attn::scaled_dot_product_attention(attn::ConstTensor(p.query.data() + i * kDim, one), cache,
                                       attn::Tensor(output.data(), one),
                                       {.column_sums = {sums.data(), {1, 1, kKeys}}}, context());
    for (std::size_t j = 0; j < kKeys; ++j) total[j] += sums[j];
  }
  const std::vector<float> together = attend(p, context(), {.column_sums = true}).column_sums;
  for (std::size_t j = 0; j < kKeys; ++j) EXPECT_NEAR(together[j], total[j], 1e-5 * total[j]);
}

TEST_P(ColumnSumsTest, of_a_layer_cover_its_heads) {
  Random random;
  attn::MultiHeadAttention layer({.d_model = 16, .num_heads = 2});
  attn_test::randomize(layer, random);
  const std::vector<float> x = random.normals(2 * 50 * 16);
  std::vector<float> y(x.size()), weights(2 * 2 * 50 * 50), sums(2 * 2 * 50, 77.0F);
  const attn::ConstTensor input(x.data(), {2, 50, 16});
  layer.forward(input, input, input, {y.data(), {2, 50, 16}},
                {.attention = {.causal = true,
                               .weights = {weights.data(), {2, 2, 50, 50}},
                               .column_sums = {sums.data(), {2, 2, 50}}}},
                context());
  for (std::size_t head = 0; head < 4; ++head) {
    for (std::size_t j = 0; j < 50; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < 50; ++i) sum += weights[(head * 50 + i) * 50 + j];
      EXPECT_NEAR(sums[head * 50 + j], sum, 1e-5 * sum);
    }
  }
}

}  // namespace
