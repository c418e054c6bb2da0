// Tests positional schemes and sinks of a MultiHeadAttention.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/multi_head_layer.hpp"
#include "random.hpp"

namespace {

using attn::AttentionOptions;
using attn::MultiHeadAttention;
using attn::MultiHeadAttentionOptions;
using attn_test::MultiHeadLayer;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::self_attention;

/// x · Wᵀ + b, where W and b are rows [begin, end) of the parameters `weight` and `bias`.
std::vector<float> projected(const MultiHeadAttention& layer, const char* weight, const char* bias,
                             std::int64_t begin, std::int64_t end, const std::vector<float>& x,
                             attn::Context& context) {
  const attn::ConstTensor all = layer.parameter(weight);
  const std::int64_t in = all.size(1);
  attn::Linear linear(in, end - begin);
  linear.set_parameter("weight", all.slice(0, begin, end));
  linear.set_parameter("bias", layer.parameter(bias).slice(0, begin, end));
  const std::int64_t rows = std::ssize(x) / in;
  std::vector<float> y(static_cast<std::size_t>(rows * (end - begin)));
  linear.forward({x.data(), {rows, in}}, {y.data(), {rows, end - begin}}, context);
  return y;
}

using MultiHeadAttentionPositionsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MultiHeadAttentionPositionsTest);

TEST_P(MultiHeadAttentionPositionsTest, every_positional_scheme_equals_the_option_of_attention) {
  Random random;
  constexpr std::int64_t kBatch = 2, kLength = 11, kWidth = 24, kHeads = 3, kDim = 8;
  const attn::RotaryEmbeddingOptions rotation{.rotary_dim = 6,
                                              .pairing = attn::RotaryPairing::kInterleaved};
  const MultiHeadLayer layer({.d_model = kWidth,
                              .num_heads = kHeads,
                              .bias = true,
                              .positions = {.rotary = rotation,
                                            .alibi = true,
                                            .t5_bias = attn::T5BiasOptions{.num_buckets = 8},
                                            .max_relative_distance = 3},
                              .sinks = true},
                             random);
  const std::vector<float> x = random.normals(kBatch * kLength * kWidth);
  for (const std::int64_t offset : {0, 2}) {
    AttentionOptions options;
    options.causal = true;
    options.diagonal = attn::Diagonal::offset(offset);
    const std::vector<float> got = self_attention(layer.attention, x, kBatch, context(), options);

    const auto part = [&](int i) {
      return projected(layer.attention, "in_proj_weight", "in_proj_bias", i * kWidth,
                       (i + 1) * kWidth, x, context());
    };
    std::vector<float> q = part(0), k = part(1);
    const std::vector<float> v = part(2);
    const auto heads = [&](auto& values) {
      return attn::TensorView(values.data(), {kBatch, kLength, kWidth}).split_heads(kHeads);
    };
    const attn::RotaryEmbedding rotary(rotation);
    rotary.forward(heads(q), heads(q), {.start = static_cast<double>(offset)}, context());
    rotary.forward(heads(k), heads(k), {}, context());
    std::vector<float> slopes(kHeads);
    attn::alibi_slopes(slopes);
    options.alibi_slopes = {slopes.data(), {kHeads}};
    options.t5_bias =
        attn::T5Bias{.table = layer.attention.parameter("relative_attention_bias.weight")};
    options.relative_keys = layer.attention.parameter("relative_keys");
    options.relative_values = layer.attention.parameter("relative_values");
    options.sinks = layer.attention.parameter("sinks");
    EXPECT_THAT(options.relative_keys.shape(), ::testing::ElementsAre(7, kDim));
    std::vector<float> joined(x.size());
    attn::scaled_dot_product_attention(heads(q), heads(k), heads(v), heads(joined), options,
                                       context());
    EXPECT_TRUE(same_bits(got, projected(layer.attention, "out_proj.weight", "out_proj.bias", 0,
                                         kWidth, joined, context())));
  }
}

TEST_P(MultiHeadAttentionPositionsTest, rotary_outputs_depend_only_on_distances) {
  Random random;
  const MultiHeadLayer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}},
                             random);
  const std::vector<float> x = random.normals(9 * 16);
  const std::vector<float> want = self_attention(layer.attention, x, 1, context());
  // The same keys, three positions later in a sequence whose first keys are masked.
  std::vector<float> later = random.normals(3 * 16);
  later.insert(later.end(), x.begin(), x.end());
  const std::vector<std::uint8_t> mask{0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  AttentionOptions options;
  options.mask = {mask.data(), {12}};
  const std::vector<float> got = self_attention(layer.attention, later, 1, context(), options);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i + 48], want[i], 5e-6);
  // Without positions, swapping the first two tokens would not change the outputs of the other
  // tokens.
  const std::vector<float> reversed = [&] {
    std::vector<float> y = x;
    std::swap_ranges(y.begin(), y.begin() + 16, y.begin() + 16);
    return self_attention(layer.attention, y, 1, context());
  }();
  EXPECT_GT(std::abs(reversed[40] - want[40]), 1e-5F);
}

TEST_P(MultiHeadAttentionPositionsTest, key_lens_move_rotary_queries_per_batch_entry) {
  Random random;
  const MultiHeadLayer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}},
                             random);
  const std::vector<float> query = random.normals(2 * 2 * 16), key = random.normals(2 * 7 * 16);
  const std::vector<std::int32_t> key_lens{7, 4};
  AttentionOptions options;
  options.diagonal = attn::Diagonal::bottom_right();
  options.key_lens = {key_lens.data(), {2}};
  std::vector<float> got(query.size());
  layer.attention.forward({query.data(), {2, 2, 16}}, {key.data(), {2, 7, 16}},
                          {key.data(), {2, 7, 16}}, {got.data(), {2, 2, 16}},
                          {.attention = options}, context());
  for (std::int64_t b = 0; b < 2; ++b) {
    AttentionOptions alone;
    alone.diagonal = attn::Diagonal::bottom_right();
    const attn::ConstTensor keys(key.data() + b * 7 * 16,
                                 {key_lens[static_cast<std::size_t>(b)], 16});
    std::vector<float> want(2 * 16);
    layer.attention.forward({query.data() + b * 32, {2, 16}}, keys, keys, {want.data(), {2, 16}},
                            {.attention = alone}, context());
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(got[static_cast<std::size_t>(b) * 32 + i], want[i], 1e-6);
    }
  }
}

TEST_P(MultiHeadAttentionPositionsTest, terms_of_a_call_replace_the_terms_of_the_layer) {
  Random random;
  const MultiHeadLayer with(
      {.d_model = 12, .num_heads = 2, .positions = {.alibi = true}, .sinks = true}, random);
  MultiHeadAttention without({.d_model = 12, .num_heads = 2});
  for (const char* name : {"in_proj_weight", "out_proj.weight"}) {
    without.set_parameter(name, with.attention.parameter(name));
  }
  const std::vector<float> x = random.normals(6 * 12), slopes{0.3F, 0.1F}, sinks{1, 2};
  AttentionOptions options;
  options.alibi_slopes = {slopes.data(), {2}};
  options.sinks = {sinks.data(), {2}};
  EXPECT_TRUE(same_bits(self_attention(with.attention, x, 1, context(), options),
                        self_attention(without, x, 1, context(), options)));
}

TEST(MultiHeadAttentionPositionsParametersTest, follow_the_parameters_of_pytorch) {
  const MultiHeadAttention attention(
      {.d_model = 8,
       .num_heads = 2,
       .positions = {.t5_bias = attn::T5BiasOptions{}, .max_relative_distance = 1},
       .sinks = true});
  EXPECT_THAT(attention.parameter_names(),
              ::testing::ElementsAre("in_proj_weight", "out_proj.weight", "relative_keys",
                                     "relative_values", "relative_attention_bias.weight", "sinks"));
  EXPECT_THAT(attention.parameter("relative_attention_bias.weight").shape(),
              ::testing::ElementsAre(32, 2));
}

TEST(MultiHeadAttentionPositionsErrorTest, options_of_the_layer) {
  const auto error = [](const MultiHeadAttentionOptions& options) {
    return attn_test::error_of([&] { MultiHeadAttention attention(options); });
  };
  EXPECT_EQ(error({.d_model = 8, .num_heads = 2, .positions = {.rotary = {{.rotary_dim = 6}}}}),
            "invalid_argument: rotary_dim: got 6, needs at most the head dimension 4");
  EXPECT_EQ(error({.d_model = 6, .num_heads = 2, .positions = {.rotary = {{}}}}).substr(0, 36),
            "invalid_argument: rotary_dim: got 3,");
  EXPECT_EQ(error({.d_model = 8, .positions = {.max_relative_distance = -1}}),
            "invalid_argument: max_relative_distance: got -1, needs 0 or more");
  EXPECT_EQ(error({.d_model = 8, .positions = {.max_relative_distance = std::int64_t{1} << 40}}),
            "invalid_argument: max_relative_distance: got 1099511627776, needs at most 2147483647");
  EXPECT_THAT(
      error({.d_model = 8, .positions = {.t5_bias = attn::T5BiasOptions{.num_buckets = 1}}}),
      ::testing::StartsWith("invalid_argument: "));
}

}  // namespace
