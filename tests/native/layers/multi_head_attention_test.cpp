#include "attn/layers/multi_head_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/initialization.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "layers/multi_head_layer.hpp"
#include "random.hpp"
#include "reference/multi_head_attention.hpp"

namespace {

using attn::AttentionOptions;
using attn::MultiHeadAttention;
using attn::MultiHeadAttentionOptions;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::MultiHeadLayer;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::self_attention;
using reference::Array;

using MultiHeadAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MultiHeadAttentionTest);

// The example of D2L 11.5.2: width 100, 5 heads, batch 2, 4 queries, 6 keys, valid lengths 3 and 2.
TEST_P(MultiHeadAttentionTest, d2l_example_gives_2_4_100) {
  Random random;
  const MultiHeadLayer layer({.d_model = 100, .num_heads = 5}, random);
  const std::vector<std::int32_t> valid_lens{3, 2};
  const std::vector<float> x = random.normals(2 * 4 * 100), y = random.normals(2 * 6 * 100);
  FloatTensor output = FloatTensor::filled({2, 4, 100}, 77.0F);
  FloatTensor weights = FloatTensor::filled({2, 5, 4, 6}, 77.0F);
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  options.weights = weights.view();
  const attn::ConstTensor keys(y.data(), {2, 6, 100});
  layer.attention.forward({x.data(), {2, 4, 100}}, keys, keys, output.view(),
                          {.attention = options}, context());

  reference::Attention reference_options;
  reference_options.valid_lens = Array({2}, valid_lens);
  const Array y_array({2, 6, 100}, y);
  const auto expected = reference::multi_head_attention(layer.exact(), Array({2, 4, 100}, x),
                                                        y_array, y_array, reference_options);
  EXPECT_THAT(expected.output.exact.shape, ::testing::ElementsAre(2, 4, 100));
  EXPECT_TRUE(is_within(output.values(), expected.output.exact, expected.output.error));
  EXPECT_TRUE(
      is_within(weights.values(), expected.attention.weights, expected.attention.weights_error));
}

TEST_P(MultiHeadAttentionTest, d2l_example_of_self_attention) {
  Random random;
  const MultiHeadLayer layer({.d_model = 100, .num_heads = 5}, random);
  const std::vector<std::int32_t> valid_lens{3, 2};
  // If all inputs are ones, as in D2L 11.6.1, every query of a batch entry gets the same output.
  const std::vector<float> x(2 * 4 * 100, 1.0F);
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  const std::vector<float> y = self_attention(layer.attention, x, 2, context(), options);
  const Array x_array({2, 4, 100}, x);
  reference::Attention reference_options;
  reference_options.valid_lens = Array({2}, valid_lens);
  const auto expected =
      reference::multi_head_attention(layer.exact(), x_array, x_array, x_array, reference_options);
  EXPECT_TRUE(is_within(y, expected.output.exact, expected.output.error));
  for (std::size_t row = 1; row < 4; ++row) {
    EXPECT_TRUE(same_bits({y.begin(), y.begin() + 100},
                          {y.begin() + static_cast<std::ptrdiff_t>(row * 100),
                           y.begin() + static_cast<std::ptrdiff_t>(row * 100 + 100)}));
  }
}

TEST_P(MultiHeadAttentionTest, matches_the_reference) {
  Random random;
  struct Case {
    MultiHeadAttentionOptions options;
    std::int64_t batch, num_queries, num_keys;
  };
  const Case cases[] = {
      {{.d_model = 1, .num_heads = 1}, 1, 1, 1},
      {{.d_model = 7, .num_heads = 7, .bias = true}, 2, 3, 5},
      {{.d_model = 12, .num_heads = 4, .bias = true}, 3, 50, 17},
      {{.d_model = 34, .num_heads = 2}, 1, 5, 300},
      {{.d_model = 24, .num_heads = 4, .num_kv_heads = 2, .bias = true}, 2, 9, 11},
      {{.d_model = 24, .num_heads = 4, .num_kv_heads = 1}, 2, 9, 11},
      {{.d_model = 16, .num_heads = 2, .key_dim = 5, .value_dim = 9, .bias = true}, 2, 6, 8},
      {{.d_model = 16, .num_heads = 2, .key_dim = 5}, 1, 6, 8},
      {{.d_model = 64, .num_heads = 8, .num_kv_heads = 4, .key_dim = 70, .value_dim = 33}, 2, 3, 4},
      {{.d_model = 260, .num_heads = 4, .bias = true}, 1, 8, 8},
      // Heads that are wider or narrower than d_model / num_heads, with joined or separate
      // projections.
      {{.d_model = 7, .num_heads = 3, .head_dim = 5, .bias = true}, 2, 3, 5},
      {{.d_model = 24, .num_heads = 4, .head_dim = 2, .bias = true, .output_bias = false}, 1, 6, 4},
      {{.d_model = 10, .num_heads = 4, .num_kv_heads = 2, .head_dim = 17, .output_bias = true},
       2,
       9,
       33},
      // Layers with the options of OLMo 2, Qwen 3, Gemma 3 and Qwen 2.
      {{.d_model = 18,
        .num_heads = 6,
        .num_kv_heads = 2,
        .head_dim = 4,
        .qk_norm = attn::RmsNormOptions{.eps = 1e-6F},
        .qk_norm_all_heads = true,
        .positions = {.rotary = attn::RotaryEmbeddingOptions{.base = 5e5}}},
       2,
       9,
       9},
      {{.d_model = 20,
        .num_heads = 4,
        .num_kv_heads = 2,
        .head_dim = 18,
        .qk_norm = attn::RmsNormOptions{.eps = 1e-6F},
        .positions = {.rotary = attn::RotaryEmbeddingOptions{.base = 1e6}}},
       2,
       13,
       13},
      {{.d_model = 12,
        .num_heads = 2,
        .qk_norm = attn::RmsNormOptions{.eps = 0.01F, .zero_centred_weight = true},
        .positions = {.rotary = attn::RotaryEmbeddingOptions{.rotary_dim = 4}},
        .scale = 0.25F,
        .softcap = 2},
       1,
       7,
       7},
      {{.d_model = 9,
        .num_heads = 3,
        .num_kv_heads = 1,
        .bias = true,
        .output_bias = false,
        .qk_norm = attn::RmsNormOptions{.elementwise_affine = true},
        .scale = -0.5F},
       3,
       1,
       6},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE("d_model " + std::to_string(c.options.d_model) + ", num_heads " +
                 std::to_string(c.options.num_heads));
    const MultiHeadLayer layer(c.options, random);
    const std::vector<float> query = random.normals(c.batch * c.num_queries * layer.e());
    const std::vector<float> key = random.normals(c.batch * c.num_keys * layer.key_dim());
    const std::vector<float> value = random.normals(c.batch * c.num_keys * layer.value_dim());
    std::vector<float> output(query.size(), 77.0F);
    layer.attention.forward({query.data(), {c.batch, c.num_queries, layer.e()}},
                            {key.data(), {c.batch, c.num_keys, layer.key_dim()}},
                            {value.data(), {c.batch, c.num_keys, layer.value_dim()}},
                            {output.data(), {c.batch, c.num_queries, layer.e()}}, {}, context());
    const auto expected = reference::multi_head_attention(
        layer.exact(), Array({c.batch, c.num_queries, layer.e()}, query),
        Array({c.batch, c.num_keys, layer.key_dim()}, key),
        Array({c.batch, c.num_keys, layer.value_dim()}, value), layer.own_options());
    EXPECT_TRUE(is_within(output, expected.output.exact, expected.output.error));
  }
}

TEST_P(MultiHeadAttentionTest, options_of_attention_apply_to_every_head) {
  Random random;
  const MultiHeadLayer layer({.d_model = 20, .num_heads = 2, .bias = true}, random);
  const std::vector<float> x = random.normals(2 * 9 * 20);
  const Array x_array({2, 9, 20}, x);
  std::vector<std::uint8_t> mask;
  for (int i = 0; i < 2 * 9; ++i) mask.push_back(random.chance(0.7));
  const std::vector<float> bias = random.normals(9 * 9);
  AttentionOptions options;
  options.mask = {mask.data(), {2, 1, 1, 9}};
  options.bias = {bias.data(), {9, 9}};
  options.causal = true;
  options.diagonal = attn::Diagonal::offset(2);
  options.window = attn::Window{4, 1};
  options.scale = 0.4F;
  options.softcap = 2.0F;
  FloatTensor log_sum_exp = FloatTensor::filled({2, 2, 9}, 77.0F);
  options.log_sum_exp = log_sum_exp.view();
  const std::vector<float> y = self_attention(layer.attention, x, 2, context(), options);

  reference::Attention r;
  r.mask = Array({2, 1, 1, 9}, mask);
  r.bias = Array({9, 9}, bias);
  r.causal_offset = reference::Array({1}, 2);
  r.window_offset = reference::Array({1}, 2);
  r.window_left = 4;
  r.window_right = 1;
  r.scale = 0.4F;
  r.softcap = 2.0;
  const auto expected =
      reference::multi_head_attention(layer.exact(), x_array, x_array, x_array, r);
  EXPECT_TRUE(is_within(y, expected.output.exact, expected.output.error));
  EXPECT_TRUE(is_within(log_sum_exp.values(), expected.attention.log_sum_exp,
                        expected.attention.log_sum_exp_error));
}

TEST_P(MultiHeadAttentionTest, scale_softcap_and_window_of_a_call_replace_the_values_of_the_layer) {
  Random random;
  const MultiHeadLayer plain({.d_model = 20, .num_heads = 2}, random);
  MultiHeadAttention own(
      {.d_model = 20, .num_heads = 2, .scale = 0.5F, .softcap = 3, .window = attn::Window{2, 0}});
  for (const auto& [name, values] : plain.parameters) {
    own.set_parameter(name, {values.data(), own.parameter(name).shape()});
  }
  const std::vector<float> x = random.normals(9 * 20);
  const auto of_plain = [&](const AttentionOptions& options) {
    return self_attention(plain.attention, x, 1, context(), options);
  };
  const auto of_own = [&](const AttentionOptions& options) {
    return self_attention(own, x, 1, context(), options);
  };
  const attn::Window wide{.left = 4};
  EXPECT_TRUE(
      same_bits(of_own({}), of_plain({.scale = 0.5F, .softcap = 3, .window = attn::Window{2, 0}})));
  EXPECT_TRUE(same_bits(of_own({.scale = 2}),
                        of_plain({.scale = 2, .softcap = 3, .window = attn::Window{2, 0}})));
  EXPECT_TRUE(same_bits(of_own({.softcap = 9, .window = wide}),
                        of_plain({.scale = 0.5F, .softcap = 9, .window = wide})));
}

TEST_P(MultiHeadAttentionTest, normalised_queries_and_keys_are_intermediates) {
  Random random;
  const MultiHeadLayer layer({.d_model = 12,
                              .num_heads = 3,
                              .num_kv_heads = 1,
                              .head_dim = 6,
                              .qk_norm = attn::RmsNormOptions{},
                              .positions = {.rotary = attn::RotaryEmbeddingOptions{}}},
                             random);
  const std::vector<float> x = random.normals(2 * 5 * 12);
  const std::vector<std::string> names{
      "projected_q", "q_norm.output", "q", "projected_k", "k_norm.output", "k", "head_output"};
  attn::Intermediates shown(names);
  std::vector<float> y(x.size());
  const attn::ConstTensor in(x.data(), {2, 5, 12});
  layer.attention.forward(in, in, in, {y.data(), {2, 5, 12}}, {.intermediates = &shown}, context());
  EXPECT_THAT(shown["projected_q"].shape(), ::testing::ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(shown["q_norm.output"].shape(), ::testing::ElementsAre(2, 5, 3, 6));
  EXPECT_THAT(shown["k_norm.output"].shape(), ::testing::ElementsAre(2, 5, 1, 6));
  EXPECT_THAT(shown["head_output"].shape(), ::testing::ElementsAre(2, 3, 5, 6));
  for (const std::string side : {"q", "k"}) {
    const attn::ConstTensor projected = shown["projected_" + side];
    const attn::ConstTensor normal = shown[side + "_norm.output"];
    const attn::ConstTensor weight = layer.attention.parameter(side + "_norm.weight");
    const attn::ConstTensor entering = shown[side];
    for (std::int64_t h = 0; h < projected.size(1); ++h) {
      for (std::int64_t i = 0; i < 5; ++i) {
        double square = 0;
        for (std::int64_t c = 0; c < 6; ++c) {
          square += static_cast<double>(projected(1, h, i, c)) * projected(1, h, i, c);
        }
        for (std::int64_t c = 0; c < 6; ++c) {
          const double want = projected(1, h, i, c) / std::sqrt(square / 6 + 1.19e-7) * weight(c);
          EXPECT_NEAR(normal(1, i, h, c), want, 2e-6);
          // Position 0 is not rotated.
          if (i == 0) {
            EXPECT_EQ(entering(1, h, i, c), normal(1, i, h, c));
          }
        }
      }
    }
  }
}

TEST_P(MultiHeadAttentionTest, rank_2_is_a_batch_of_one) {
  Random random;
  const MultiHeadLayer layer({.d_model = 20, .num_heads = 2}, random);
  const std::vector<float> x = random.normals(9 * 20);
  std::vector<float> y(x.size());
  const attn::ConstTensor in(x.data(), {9, 20});
  layer.attention.forward(in, in, in, {y.data(), {9, 20}}, {}, context());
  EXPECT_TRUE(same_bits(y, self_attention(layer.attention, x, 1, context())));
}

TEST_P(MultiHeadAttentionTest, every_layout_gives_the_same_bits) {
  Random random;
  const MultiHeadLayer layer({.d_model = 20, .num_heads = 2, .bias = true}, random);
  const std::vector<float> x = random.normals(2 * 30 * 20);
  const std::vector<float> contiguous = self_attention(layer.attention, x, 2, context());
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const FloatTensor in({2, 30, 20}, x, layout);
    FloatTensor out = FloatTensor::filled({2, 30, 20}, 77.0F, layout);
    layer.attention.forward(in.view(), in.view(), in.view(), out.view(), {}, context());
    EXPECT_TRUE(same_bits(out.values(), contiguous));
    EXPECT_TRUE(out.gaps_are_untouched());
  }
}

TEST_P(MultiHeadAttentionTest, identity_weights_attend_with_slices_of_the_input) {
  Random random;
  MultiHeadAttention attention({.d_model = 12, .num_heads = 3, .bias = true});
  attention.initialize_identity();
  const std::vector<float> x = random.normals(2 * 5 * 12);
  const std::vector<float> y = self_attention(attention, x, 2, context());
  std::vector<float> heads(x.size());
  const attn::ConstTensor split = attn::ConstTensor(x.data(), {2, 5, 12}).split_heads(3);
  attn::scaled_dot_product_attention(
      split, split, split, attn::Tensor(heads.data(), {2, 5, 12}).split_heads(3), {}, context());
  EXPECT_TRUE(same_bits(y, heads));
}

TEST_P(MultiHeadAttentionTest, shuffled_tokens_give_equally_shuffled_outputs) {
  Random random;
  const MultiHeadLayer layer({.d_model = 40, .num_heads = 4}, random);
  const std::vector<float> x = random.normals(11 * 40);
  std::vector<std::size_t> order(11);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine());
  const auto shuffle = [&](const std::vector<float>& rows) {
    std::vector<float> result;
    for (const std::size_t i : order) {
      const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * 40);
      result.insert(result.end(), row, row + 40);
    }
    return result;
  };
  const std::vector<float> attend_then_shuffle =
      shuffle(self_attention(layer.attention, x, 1, context()));
  const std::vector<float> shuffle_then_attend =
      self_attention(layer.attention, shuffle(x), 1, context());
  const Array shuffled({1, 11, 40}, shuffle(x));
  const auto expected =
      reference::multi_head_attention(layer.exact(), shuffled, shuffled, shuffled);
  // The two calls sum over keys in different orders, so results are equal only to within rounding.
  EXPECT_TRUE(is_within(shuffle_then_attend, expected.output.exact, expected.output.error));
  EXPECT_TRUE(is_within(attend_then_shuffle, expected.output.exact, expected.output.error));
}

TEST_P(MultiHeadAttentionTest, any_number_of_threads_gives_the_same_bits) {
  Random random;
  const MultiHeadLayer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
  const std::vector<float> x = random.normals(3 * 100 * 60);
  const std::vector<float> one = self_attention(layer.attention, x, 3, context(1));
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(self_attention(layer.attention, x, 3, context(threads)), one));
  }
}

TEST_P(MultiHeadAttentionTest, a_sequence_has_the_same_bits_alone_and_in_any_batch) {
  Random random;
  const MultiHeadLayer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
  const std::vector<float> x = random.normals(4 * 50 * 60);
  const std::vector<float> together = self_attention(layer.attention, x, 4, context());
  for (std::ptrdiff_t b = 0; b < 4; ++b) {
    EXPECT_TRUE(
        same_bits(self_attention(layer.attention,
                                 {x.begin() + b * 3000, x.begin() + (b + 1) * 3000}, 1, context()),
                  {together.begin() + b * 3000, together.begin() + (b + 1) * 3000}));
  }
}

TEST_P(MultiHeadAttentionTest, a_row_with_nothing_to_attend_to_gives_the_output_bias) {
  Random random;
  const MultiHeadLayer layer({.d_model = 8, .num_heads = 2, .bias = true}, random);
  const std::vector<float> x = random.normals(2 * 3 * 8);
  const std::vector<std::int32_t> valid_lens{0, 3};
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  const std::vector<float> y = self_attention(layer.attention, x, 2, context(), options);
  for (std::size_t i = 0; i < 3 * 8; ++i) {
    EXPECT_EQ(y[i], layer.parameters.at("out_proj.bias")[i % 8]);
  }
}

TEST_P(MultiHeadAttentionTest, nan_beyond_the_valid_length_does_not_matter) {
  Random random;
  const MultiHeadLayer layer({.d_model = 16, .num_heads = 2, .bias = true}, random);
  const std::vector<std::int32_t> valid_lens{4};
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {1}};
  const std::vector<float> query = random.normals(5 * 16);
  std::vector<float> keys = random.normals(7 * 16);
  const auto attend = [&] {
    std::vector<float> y(query.size());
    layer.attention.forward({query.data(), {1, 5, 16}}, {keys.data(), {1, 7, 16}},
                            {keys.data(), {1, 7, 16}}, {y.data(), {1, 5, 16}},
                            {.attention = options}, context());
    return y;
  };
  const std::vector<float> clean = attend();
  std::fill(keys.begin() + 4 * 16, keys.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(same_bits(attend(), clean));
}

TEST_P(MultiHeadAttentionTest, a_moved_layer_keeps_its_weights) {
  Random random;
  MultiHeadLayer layer({.d_model = 8, .num_heads = 2}, random);
  const std::vector<float> x = random.normals(3 * 8);
  const std::vector<float> before = self_attention(layer.attention, x, 1, context());
  const MultiHeadAttention moved = std::move(layer.attention);
  EXPECT_TRUE(same_bits(self_attention(moved, x, 1, context()), before));
}

TEST_P(MultiHeadAttentionTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const MultiHeadLayer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
  const std::vector<float> x = random.normals(100 * 60);
  std::vector<float> y(x.size());
  const attn::ConstTensor in(x.data(), {100, 60});
  attn_test::expect_no_allocations(
      [&] { layer.attention.forward(in, in, in, {y.data(), {100, 60}}, {}, context()); });
}

TEST_P(MultiHeadAttentionTest, running_out_of_memory_is_an_error_and_leaves_the_outputs) {
  Random random;
  const MultiHeadLayer layer({.d_model = 60, .num_heads = 3}, random);
  const std::vector<float> x = random.normals(300 * 60);
  std::vector<float> y(x.size(), 5.0F), weights(3 * 300 * 300, 5.0F);
  const attn::ConstTensor in(x.data(), {300, 60});
  AttentionOptions options;
  options.weights = {weights.data(), {1, 3, 300, 300}};
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        layer.attention.forward(in, in, in, {y.data(), {300, 60}}, {.attention = options}, fresh);
      },
      [&](std::int64_t allowed) {
        ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
        ASSERT_EQ(std::count(weights.begin(), weights.end(), 5.0F), std::ssize(weights)) << allowed;
        fresh.release_memory();
      });
  EXPECT_TRUE(same_bits(y, self_attention(layer.attention, x, 1, context())));
}

// ---- Parameters and errors

TEST(MultiHeadAttentionParametersTest, have_pytorch_names_and_shapes) {
  const auto described = [](const MultiHeadAttentionOptions& options) {
    const MultiHeadAttention attention(options);
    std::vector<std::string> text;
    for (const std::string& name : attention.parameter_names()) {
      std::string line = name;
      const attn::ConstTensor parameter = attention.parameter(name);
      for (const std::int64_t size : parameter.shape()) {
        line.append(" ").append(std::to_string(size));
      }
      text.push_back(line);
    }
    return text;
  };
  EXPECT_THAT(described({.d_model = 12, .num_heads = 3}),
              ::testing::ElementsAre("in_proj_weight 36 12", "out_proj.weight 12 12"));
  EXPECT_THAT(described({.d_model = 12, .num_heads = 3, .bias = true}),
              ::testing::ElementsAre("in_proj_weight 36 12", "in_proj_bias 36",
                                     "out_proj.weight 12 12", "out_proj.bias 12"));
  EXPECT_THAT(
      described({.d_model = 12, .num_heads = 3, .key_dim = 5, .value_dim = 7, .bias = true}),
      ::testing::ElementsAre("q_proj_weight 12 12", "k_proj_weight 12 5", "v_proj_weight 12 7",
                             "in_proj_bias 36", "out_proj.weight 12 12", "out_proj.bias 12"));
  EXPECT_THAT(
      described({.d_model = 12, .num_heads = 6, .num_kv_heads = 2, .bias = true}),
      ::testing::ElementsAre("q_proj_weight 12 12", "k_proj_weight 4 12", "v_proj_weight 4 12",
                             "in_proj_bias 20", "out_proj.weight 12 12", "out_proj.bias 12"));
  EXPECT_THAT(
      described({.d_model = 12,
                 .num_heads = 2,
                 .num_kv_heads = 1,
                 .head_dim = 8,
                 .bias = true,
                 .output_bias = false,
                 .qk_norm = attn::RmsNormOptions{}}),
      ::testing::ElementsAre("q_proj_weight 16 12", "k_proj_weight 8 12", "v_proj_weight 8 12",
                             "in_proj_bias 32", "out_proj.weight 12 16", "q_norm.weight 8",
                             "k_norm.weight 8"));
  EXPECT_THAT(
      described({.d_model = 6,
                 .num_heads = 4,
                 .num_kv_heads = 2,
                 .head_dim = 8,
                 .qk_norm = attn::RmsNormOptions{},
                 .qk_norm_all_heads = true}),
      ::testing::ElementsAre("q_proj_weight 32 6", "k_proj_weight 16 6", "v_proj_weight 16 6",
                             "out_proj.weight 6 32", "q_norm.weight 32", "k_norm.weight 16"));
}

TEST(MultiHeadAttentionParametersTest, are_zero_at_first) {
  const MultiHeadAttention attention({.d_model = 4, .num_heads = 2, .bias = true});
  for (const std::string& name : attention.parameter_names()) {
    const attn::ConstTensor parameter = attention.parameter(name);
    std::int64_t count = 1;
    for (const std::int64_t size : parameter.shape()) count *= size;
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(parameter.data()[i], 0.0F) << name;
  }
}

TEST(MultiHeadAttentionParametersTest, are_each_drawn_from_a_separate_stream) {
  const MultiHeadAttentionOptions cases[] = {
      {.d_model = 12, .num_heads = 3, .bias = true},
      {.d_model = 12, .num_heads = 3, .key_dim = 5, .value_dim = 7},
      {.d_model = 12, .num_heads = 6, .num_kv_heads = 2, .bias = true, .sinks = true},
      {.d_model = 12, .num_heads = 3, .positions = {.t5_bias = attn::T5BiasOptions{}}},
      {.d_model = 12, .num_heads = 3, .positions = {.max_relative_distance = 4}, .sinks = true},
  };
  const std::map<std::string, std::uint64_t> streams{
      {"q_proj_weight", 0},   {"k_proj_weight", 1}, {"v_proj_weight", 2},
      {"out_proj.weight", 3}, {"relative_keys", 4}, {"relative_attention_bias.weight", 4},
      {"relative_values", 5},
  };
  for (const MultiHeadAttentionOptions& options : cases) {
    MultiHeadAttention from_seed(options), from_stream(options);
    for (const std::string& name : from_seed.parameter_names()) {
      const attn::ConstTensor old = from_seed.parameter(name);
      const FloatTensor ones = FloatTensor::filled({old.shape().begin(), old.shape().end()}, 1);
      from_seed.set_parameter(name, ones.view());
    }
    from_seed.initialize_xavier(7);
    from_stream.initialize_xavier({.seed = 7, .stream = 100});
    for (const auto& [layer, first_stream] : {std::pair(&from_seed, 0), {&from_stream, 100}}) {
      const auto first = static_cast<std::uint64_t>(first_stream);
      const auto expect_drawn = [&](const attn::ConstTensor& got, std::uint64_t stream) {
        FloatTensor want = FloatTensor::filled({got.size(0), got.size(1)}, 0);
        attn::xavier_uniform(want.view(), {.seed = 7, .stream = first + stream});
        EXPECT_TRUE(same_bits({got.data(), got.data() + want.count()}, want.values()));
      };
      for (const std::string& name : layer->parameter_names()) {
        SCOPED_TRACE(name);
        const attn::ConstTensor got = layer->parameter(name);
        if (got.rank() == 1) {
          EXPECT_THAT(std::vector<float>(got.data(), got.data() + got.size(0)),
                      ::testing::Each(0.0F));
        } else if (name == "in_proj_weight") {
          for (int i = 0; i < 3; ++i) expect_drawn(got.slice(0, 12 * i, 12 * i + 12), i);
        } else {
          expect_drawn(got, streams.at(name));
        }
      }
    }
    // A layer that gets the drawn parameters from set_parameter() must give the same results.
    MultiHeadAttention copy(options);
    for (const std::string& name : copy.parameter_names()) {
      copy.set_parameter(name, from_seed.parameter(name));
    }
    Random random;
    const std::vector<float> query = random.normals(4 * 12),
                             key = random.normals(6 * options.key_dim.value_or(12)),
                             value = random.normals(6 * options.value_dim.value_or(12));
    std::vector<float> got(query.size()), want(query.size());
    for (const auto& [layer, y] : {std::pair(&from_seed, &got), {&copy, &want}}) {
      layer->forward({query.data(), {4, 12}}, {key.data(), {6, options.key_dim.value_or(12)}},
                     {value.data(), {6, options.value_dim.value_or(12)}}, {y->data(), {4, 12}});
    }
    EXPECT_TRUE(same_bits(got, want));
  }
}

TEST(MultiHeadAttentionErrorTest, sizes_that_do_not_divide) {
  const auto error = [](const MultiHeadAttentionOptions& options) {
    return attn_test::error_of([&] { MultiHeadAttention attention(options); });
  };
  EXPECT_EQ(error({}), "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 4, .num_heads = 0}),
            "invalid_argument: num_heads: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 3}),
            "invalid_argument: num_heads: got 3, needs a divisor of d_model 100");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .num_kv_heads = 3}),
            "invalid_argument: num_kv_heads: got 3, needs a divisor of num_heads 4");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .head_dim = 0}),
            "invalid_argument: head_dim: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .softcap = -1}),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .window = attn::Window{.left = -2}}),
            "invalid_argument: window: got -2, needs 0 or more keys on each side");
  EXPECT_EQ(error({.d_model = 8, .num_heads = 2, .qk_norm = attn::RmsNormOptions{.eps = -1}}),
            "invalid_argument: eps: got -1, needs a finite number of at least 0");
  EXPECT_EQ(error({.d_model = 8, .num_heads = 2, .qk_norm_all_heads = true}),
            "invalid_argument: qk_norm_all_heads: got true, needs qk_norm as well");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .num_kv_heads = 0}),
            "invalid_argument: num_kv_heads: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .key_dim = 0}),
            "invalid_argument: key_dim: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 100, .num_heads = 4, .value_dim = -2}),
            "invalid_argument: value_dim: got -2, needs 1 or more");
}

TEST(MultiHeadAttentionErrorTest, sizes_beyond_the_address_space) {
  const auto error = [](const MultiHeadAttentionOptions& options) {
    return attn_test::error_of([&] { MultiHeadAttention attention(options); });
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error({.d_model = kHuge}), ::testing::StartsWith("size_overflow: "));
  EXPECT_THAT(error({.d_model = kLargest}), ::testing::StartsWith("size_overflow: "));
  EXPECT_THAT(error({.d_model = 4, .key_dim = kLargest}), ::testing::StartsWith("size_overflow: "));
  EXPECT_THAT(error({.d_model = 4, .value_dim = kLargest}),
              ::testing::StartsWith("size_overflow: "));
}

TEST(MultiHeadAttentionErrorTest, shapes) {
  const MultiHeadAttention attention({.d_model = 4, .num_heads = 2, .key_dim = 3});
  const std::vector<float> x(1000);
  std::vector<float> y(1000, 5.0F);
  using Shape = std::vector<std::int64_t>;
  const auto error = [&](const Shape& query, const Shape& key, const Shape& value,
                         const Shape& output) {
    return attn_test::error_of([&] {
      attention.forward({x.data(), query}, {x.data(), key}, {x.data(), value}, {y.data(), output});
    });
  };
  EXPECT_EQ(error({4}, {6, 3}, {6, 4}, {5, 4}),
            "shape_mismatch: query: got shape (4), needs rank 2 (N, d_model) or 3 (B, N, d_model)");
  EXPECT_EQ(error({5, 3}, {6, 3}, {6, 4}, {5, 4}),
            "shape_mismatch: query: got shape (5, 3), needs shape (any, 4)");
  EXPECT_EQ(error({5, 4}, {6, 4}, {6, 4}, {5, 4}),
            "shape_mismatch: key: got shape (6, 4), needs shape (any, 3)");
  EXPECT_EQ(error({5, 4}, {6, 3}, {7, 4}, {5, 4}),
            "shape_mismatch: value: got shape (7, 4), needs shape (6, 4)");
  EXPECT_EQ(error({2, 5, 4}, {1, 6, 3}, {2, 6, 4}, {2, 5, 4}),
            "shape_mismatch: key: got shape (1, 6, 3), needs shape (2, any, 3)");
  EXPECT_EQ(error({2, 5, 4}, {2, 6, 3}, {2, 6, 4}, {2, 4, 4}),
            "shape_mismatch: output: got shape (2, 4, 4), needs shape (2, 5, 4)");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

TEST(MultiHeadAttentionErrorTest, options_of_attention) {
  const MultiHeadAttention attention({.d_model = 4, .num_heads = 2});
  const std::vector<float> x(1000);
  std::vector<float> y(1000, 5.0F);
  const std::vector<std::int32_t> valid_lens{7};
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {1}};
  const attn::ConstTensor in(x.data(), {6, 4});
  EXPECT_EQ(attn_test::error_of(
                [&] { attention.forward(in, in, in, {y.data(), {6, 4}}, {.attention = options}); }),
            "invalid_argument: valid_lens: got 7, needs a length from 0 to 6, the number of keys");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

// Projecting 2^31 − 1 queries and keys would need more memory than any machine has. The rows of the
// inputs take no memory, because all are at the same address.
TEST(MultiHeadAttentionErrorTest, options_are_rejected_before_anything_is_projected) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 31) - 1;
  const MultiHeadAttention attention({.d_model = 256, .num_heads = 2});
  const std::vector<float> x(256);
  std::vector<float> y(256, 5.0F);
  const std::array<std::int64_t, 2> shape{kMany, 256}, strides{0, 1};
  const attn::ConstTensor in(x.data(), shape, strides);
  const attn::Tensor out(y.data(), shape, strides);
  const std::uint8_t mask[3] = {1, 1, 1};
  AttentionOptions options;
  options.mask = {mask, {3, 1}};
  attn::Context context({.num_threads = 1});
  std::string refusal;
  const auto allocations_of_a_call = [&](auto&& call) {
    const attn_test::AllocationProbe probe;
    refusal = attn_test::error_of(call);
    return probe.count();
  };
  const std::string expected =
      "shape_mismatch: mask: got shape (3, 1), needs a shape that broadcasts to (1, 2, "
      "2147483647, ";
  const auto forward = [&] { attention.forward(in, in, in, out, {.attention = options}, context); };
  const std::int64_t first = allocations_of_a_call(forward);
  EXPECT_EQ(refusal, expected + "2147483647)");
  // If a rejected call had taken scratch memory, the context would keep it, and the second call
  // would allocate less.
  EXPECT_EQ(allocations_of_a_call(forward), first);

  attn::KeyValueCache cache = attention.make_cache(1, 4);
  const attn::ConstTensor token(x.data(), {1, 256});
  const auto cached = [&] {
    attention.forward(in, token, token, out, {.attention = options, .cache = &cache}, context);
  };
  const std::int64_t first_cached = allocations_of_a_call(cached);
  EXPECT_EQ(refusal, expected + "1)");
  EXPECT_EQ(allocations_of_a_call(cached), first_cached);
  EXPECT_EQ(cache.length(), 0);
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

TEST(MultiHeadAttentionErrorTest, parameters) {
  MultiHeadAttention attention({.d_model = 4, .num_heads = 2});
  const std::vector<float> x(1000);
  EXPECT_EQ(attn_test::error_of([&] { attention.set_parameter("W_q", {x.data(), {4, 4}}); }),
            "not_found: name: got \"W_q\", needs one of: in_proj_weight, out_proj.weight");
  EXPECT_EQ(
      attn_test::error_of([&] { attention.set_parameter("in_proj_weight", {x.data(), {4, 4}}); }),
      "shape_mismatch: in_proj_weight: got shape (4, 4), needs shape (12, 4)");
  MultiHeadAttention grouped({.d_model = 4, .num_heads = 2, .num_kv_heads = 1});
  EXPECT_EQ(attn_test::error_of([&] { grouped.initialize_identity(); }),
            "invalid_argument: initialize_identity: got keys or values that differ from the "
            "queries in width or heads, needs the same widths and heads for all three");
}

}  // namespace
