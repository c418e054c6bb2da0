#include "attn/multi_head_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/alibi.hpp"
#include "attn/linear.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/multi_head_attention.hpp"

namespace {

using attn::AttentionOptions;
using attn::MultiHeadAttention;
using attn::MultiHeadAttentionOptions;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

/// A layer with random weights of the size that Xavier's would have, and the same numbers for the
/// reference.
struct Layer {
  MultiHeadAttentionOptions options;
  std::map<std::string, std::vector<float>> parameters;
  MultiHeadAttention attention;

  Layer(const MultiHeadAttentionOptions& options_, Random& random)
      : options(options_), attention(options_) {
    for (const std::string& name : attention.parameter_names()) {
      const attn::ConstTensor zeros = attention.parameter(name);
      std::int64_t count = 1;
      for (const std::int64_t size : zeros.shape()) count *= size;
      const float deviation = 1 / std::sqrt(static_cast<float>(zeros.size(-1)));
      parameters[name] = random.normals(count, deviation);
      attention.set_parameter(name, {parameters[name].data(), zeros.shape()});
    }
  }

  std::int64_t e() const { return options.d_model; }
  std::int64_t kv_heads() const { return options.num_kv_heads.value_or(options.num_heads); }
  std::int64_t kv_width() const { return e() / options.num_heads * kv_heads(); }
  std::int64_t key_dim() const { return options.key_dim.value_or(e()); }
  std::int64_t value_dim() const { return options.value_dim.value_or(e()); }

  /// Rows [begin, end) of a parameter.
  Array rows(const std::string& name, std::int64_t begin, std::int64_t end,
             std::int64_t cols) const {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return {};
    return Array(cols == 0 ? std::vector{end - begin} : std::vector{end - begin, cols},
                 std::vector<float>(found->second.begin() + begin * std::max<std::int64_t>(cols, 1),
                                    found->second.begin() + end * std::max<std::int64_t>(cols, 1)));
  }

  reference::MultiHeadAttention reference() const {
    reference::MultiHeadAttention r;
    r.num_heads = options.num_heads;
    r.num_kv_heads = kv_heads();
    if (parameters.contains("in_proj_weight")) {
      r.query_weight = rows("in_proj_weight", 0, e(), e());
      r.key_weight = rows("in_proj_weight", e(), 2 * e(), e());
      r.value_weight = rows("in_proj_weight", 2 * e(), 3 * e(), e());
    } else {
      r.query_weight = rows("q_proj_weight", 0, e(), e());
      r.key_weight = rows("k_proj_weight", 0, kv_width(), key_dim());
      r.value_weight = rows("v_proj_weight", 0, kv_width(), value_dim());
    }
    r.output_weight = rows("out_proj.weight", 0, e(), e());
    r.query_bias = rows("in_proj_bias", 0, e(), 0);
    r.key_bias = rows("in_proj_bias", e(), e() + kv_width(), 0);
    r.value_bias = rows("in_proj_bias", e() + kv_width(), e() + 2 * kv_width(), 0);
    r.output_bias = rows("out_proj.bias", 0, e(), 0);
    return r;
  }
};

/// Self-attention over x (B, N, E).
std::vector<float> self_attention(const MultiHeadAttention& attention, const std::vector<float>& x,
                                  std::int64_t batch, attn::Context& context,
                                  const AttentionOptions& options = {}) {
  const std::int64_t e = attention.options().d_model;
  const std::int64_t length = static_cast<std::int64_t>(x.size()) / batch / e;
  std::vector<float> y(x.size(), 77.0F);
  const attn::ConstTensor in(x.data(), {batch, length, e});
  attention.forward(in, in, in, {y.data(), {batch, length, e}}, options, context);
  return y;
}

using MultiHeadAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MultiHeadAttentionTest);

// The example of D2L 11.5.2: width 100, 5 heads, batch 2, 4 queries, 6 keys, valid lengths 3 and 2.
TEST_P(MultiHeadAttentionTest, d2l_example_gives_2_4_100) {
  Random random;
  const Layer layer({.d_model = 100, .num_heads = 5}, random);
  const std::vector<std::int32_t> valid_lens{3, 2};
  const std::vector<float> x = random.normals(2 * 4 * 100), y = random.normals(2 * 6 * 100);
  FloatTensor output = FloatTensor::filled({2, 4, 100}, 77.0F);
  FloatTensor weights = FloatTensor::filled({2, 5, 4, 6}, 77.0F);
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  options.weights = weights.view();
  const attn::ConstTensor keys(y.data(), {2, 6, 100});
  layer.attention.forward({x.data(), {2, 4, 100}}, keys, keys, output.view(), options, context());

  reference::Attention reference_options;
  reference_options.valid_lens = Array({2}, valid_lens);
  const Array y_array({2, 6, 100}, y);
  const auto expected = reference::multi_head_attention(layer.reference(), Array({2, 4, 100}, x),
                                                        y_array, y_array, reference_options);
  EXPECT_THAT(expected.output.exact.shape, ::testing::ElementsAre(2, 4, 100));
  EXPECT_TRUE(is_within(output.values(), expected.output.exact, expected.output.error));
  EXPECT_TRUE(
      is_within(weights.values(), expected.attention.weights, expected.attention.weights_error));
}

TEST_P(MultiHeadAttentionTest, d2l_example_of_self_attention) {
  Random random;
  const Layer layer({.d_model = 100, .num_heads = 5}, random);
  const std::vector<std::int32_t> valid_lens{3, 2};
  // All ones, as in D2L 11.6.1: every query of an entry then gets the same output.
  const std::vector<float> x(2 * 4 * 100, 1.0F);
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  const std::vector<float> y = self_attention(layer.attention, x, 2, context(), options);
  const Array x_array({2, 4, 100}, x);
  reference::Attention reference_options;
  reference_options.valid_lens = Array({2}, valid_lens);
  const auto expected = reference::multi_head_attention(layer.reference(), x_array, x_array,
                                                        x_array, reference_options);
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
  };
  for (const Case& c : cases) {
    SCOPED_TRACE("d_model " + std::to_string(c.options.d_model) + ", num_heads " +
                 std::to_string(c.options.num_heads));
    const Layer layer(c.options, random);
    const std::vector<float> query = random.normals(c.batch * c.num_queries * layer.e());
    const std::vector<float> key = random.normals(c.batch * c.num_keys * layer.key_dim());
    const std::vector<float> value = random.normals(c.batch * c.num_keys * layer.value_dim());
    std::vector<float> output(query.size(), 77.0F);
    layer.attention.forward({query.data(), {c.batch, c.num_queries, layer.e()}},
                            {key.data(), {c.batch, c.num_keys, layer.key_dim()}},
                            {value.data(), {c.batch, c.num_keys, layer.value_dim()}},
                            {output.data(), {c.batch, c.num_queries, layer.e()}}, {}, context());
    const auto expected = reference::multi_head_attention(
        layer.reference(), Array({c.batch, c.num_queries, layer.e()}, query),
        Array({c.batch, c.num_keys, layer.key_dim()}, key),
        Array({c.batch, c.num_keys, layer.value_dim()}, value));
    EXPECT_TRUE(is_within(output, expected.output.exact, expected.output.error));
  }
}

TEST_P(MultiHeadAttentionTest, options_of_attention_apply_to_every_head) {
  Random random;
  const Layer layer({.d_model = 20, .num_heads = 2, .bias = true}, random);
  const std::vector<float> x = random.normals(2 * 9 * 20);
  const Array x_array({2, 9, 20}, x);
  std::vector<std::uint8_t> mask;
  for (int i = 0; i < 2 * 9; ++i) mask.push_back(random.chance(0.7));
  const std::vector<float> bias = random.normals(9 * 9);
  AttentionOptions options;
  options.mask = {mask.data(), {2, 1, 1, 9}};
  options.bias = {bias.data(), {9, 9}};
  options.causal = attn::Diagonal::offset(2);
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
  r.window_left = 4;
  r.window_right = 1;
  r.scale = 0.4F;
  r.softcap = 2.0;
  const auto expected =
      reference::multi_head_attention(layer.reference(), x_array, x_array, x_array, r);
  EXPECT_TRUE(is_within(y, expected.output.exact, expected.output.error));
  EXPECT_TRUE(is_within(log_sum_exp.values(), expected.attention.log_sum_exp,
                        expected.attention.log_sum_exp_error));
}

TEST_P(MultiHeadAttentionTest, rank_2_is_a_batch_of_one) {
  Random random;
  const Layer layer({.d_model = 20, .num_heads = 2}, random);
  const std::vector<float> x = random.normals(9 * 20);
  std::vector<float> y(x.size());
  const attn::ConstTensor in(x.data(), {9, 20});
  layer.attention.forward(in, in, in, {y.data(), {9, 20}}, {}, context());
  EXPECT_TRUE(same_bits(y, self_attention(layer.attention, x, 1, context())));
}

TEST_P(MultiHeadAttentionTest, every_layout_gives_the_same_bits) {
  Random random;
  const Layer layer({.d_model = 20, .num_heads = 2, .bias = true}, random);
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
  const Layer layer({.d_model = 40, .num_heads = 4}, random);
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
      reference::multi_head_attention(layer.reference(), shuffled, shuffled, shuffled);
  // Keys are summed in another order: equal but for rounding.
  EXPECT_TRUE(is_within(shuffle_then_attend, expected.output.exact, expected.output.error));
  EXPECT_TRUE(is_within(attend_then_shuffle, expected.output.exact, expected.output.error));
}

TEST_P(MultiHeadAttentionTest, any_number_of_threads_gives_the_same_bits) {
  Random random;
  const Layer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
  const std::vector<float> x = random.normals(3 * 100 * 60);
  const std::vector<float> one = self_attention(layer.attention, x, 3, context(1));
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(self_attention(layer.attention, x, 3, context(threads)), one));
  }
}

TEST_P(MultiHeadAttentionTest, a_sequence_has_the_same_bits_alone_and_in_any_batch) {
  Random random;
  const Layer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
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
  const Layer layer({.d_model = 8, .num_heads = 2, .bias = true}, random);
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
  const Layer layer({.d_model = 16, .num_heads = 2, .bias = true}, random);
  const std::vector<std::int32_t> valid_lens{4};
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {1}};
  const std::vector<float> query = random.normals(5 * 16);
  std::vector<float> keys = random.normals(7 * 16);
  const auto attend = [&] {
    std::vector<float> y(query.size());
    layer.attention.forward({query.data(), {1, 5, 16}}, {keys.data(), {1, 7, 16}},
                            {keys.data(), {1, 7, 16}}, {y.data(), {1, 5, 16}}, options, context());
    return y;
  };
  const std::vector<float> clean = attend();
  std::fill(keys.begin() + 4 * 16, keys.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(same_bits(attend(), clean));
}

TEST_P(MultiHeadAttentionTest, a_moved_layer_keeps_its_weights) {
  Random random;
  Layer layer({.d_model = 8, .num_heads = 2}, random);
  const std::vector<float> x = random.normals(3 * 8);
  const std::vector<float> before = self_attention(layer.attention, x, 1, context());
  const MultiHeadAttention moved = std::move(layer.attention);
  EXPECT_TRUE(same_bits(self_attention(moved, x, 1, context()), before));
}

TEST_P(MultiHeadAttentionTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const Layer layer({.d_model = 60, .num_heads = 3, .bias = true}, random);
  const std::vector<float> x = random.normals(100 * 60);
  std::vector<float> y(x.size());
  const attn::ConstTensor in(x.data(), {100, 60});
  const auto call = [&] {
    layer.attention.forward(in, in, in, {y.data(), {100, 60}}, {}, context());
  };
  call();
  call();
  const attn_test::AllocationProbe probe;
  call();
  EXPECT_EQ(probe.count(), 0);
}

TEST_P(MultiHeadAttentionTest, running_out_of_memory_is_an_error_and_leaves_the_outputs) {
  Random random;
  const Layer layer({.d_model = 60, .num_heads = 3}, random);
  const std::vector<float> x = random.normals(300 * 60);
  std::vector<float> y(x.size(), 5.0F), weights(3 * 300 * 300, 5.0F);
  const attn::ConstTensor in(x.data(), {300, 60});
  AttentionOptions options;
  options.weights = {weights.data(), {1, 3, 300, 300}};
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  for (int allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 1000);
    std::string error;
    {
      attn_test::AllocationProbe probe;
      probe.fail_after(allowed);
      try {
        layer.attention.forward(in, in, in, {y.data(), {300, 60}}, options, fresh);
        break;
      } catch (const attn::Error& e) {
        EXPECT_EQ(e.code(), attn::ErrorCode::kOutOfMemory) << e.what();
      } catch (const std::bad_alloc&) {
        // Not even the message could be made.
      }
    }
    ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
    ASSERT_EQ(std::count(weights.begin(), weights.end(), 5.0F), std::ssize(weights)) << allowed;
    fresh.release_memory();
  }
  EXPECT_TRUE(same_bits(y, self_attention(layer.attention, x, 1, context())));
}

// ---- Positions

/// x · Wᵀ + b of rows [begin, end) of a parameter.
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

TEST_P(MultiHeadAttentionTest, every_positional_scheme_is_what_attention_makes_of_it) {
  Random random;
  constexpr std::int64_t kBatch = 2, kLength = 11, kWidth = 24, kHeads = 3, kDim = 8;
  const attn::RotaryEmbeddingOptions rotation{.rotary_dim = 6,
                                              .pairing = attn::RotaryPairing::kInterleaved};
  const Layer layer({.d_model = kWidth,
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
    options.causal = attn::Diagonal::offset(offset);
    options.relative_diagonal = attn::Diagonal::offset(offset);
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

TEST_P(MultiHeadAttentionTest, rotary_outputs_depend_on_distances_alone) {
  Random random;
  const Layer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}}, random);
  const std::vector<float> x = random.normals(9 * 16);
  const std::vector<float> want = self_attention(layer.attention, x, 1, context());
  // The same keys, three places later in a sequence that begins with others that are masked.
  std::vector<float> later = random.normals(3 * 16);
  later.insert(later.end(), x.begin(), x.end());
  const std::vector<std::uint8_t> mask{0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  AttentionOptions options;
  options.mask = {mask.data(), {12}};
  const std::vector<float> got = self_attention(layer.attention, later, 1, context(), options);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i + 48], want[i], 5e-6);
  // And it is no attention without positions.
  const std::vector<float> reversed = [&] {
    std::vector<float> y = x;
    std::swap_ranges(y.begin(), y.begin() + 16, y.begin() + 16);
    return self_attention(layer.attention, y, 1, context());
  }();
  EXPECT_GT(std::abs(reversed[40] - want[40]), 1e-5F);
}

TEST_P(MultiHeadAttentionTest, key_lens_move_rotary_queries_per_batch_entry) {
  Random random;
  const Layer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}}, random);
  const std::vector<float> query = random.normals(2 * 2 * 16), key = random.normals(2 * 7 * 16);
  const std::vector<std::int32_t> key_lens{7, 4};
  AttentionOptions options;
  options.relative_diagonal = attn::Diagonal::bottom_right();
  options.key_lens = {key_lens.data(), {2}};
  std::vector<float> got(query.size());
  layer.attention.forward({query.data(), {2, 2, 16}}, {key.data(), {2, 7, 16}},
                          {key.data(), {2, 7, 16}}, {got.data(), {2, 2, 16}}, options, context());
  for (std::int64_t b = 0; b < 2; ++b) {
    AttentionOptions alone;
    alone.relative_diagonal = attn::Diagonal::bottom_right();
    const attn::ConstTensor keys(key.data() + b * 7 * 16,
                                 {key_lens[static_cast<std::size_t>(b)], 16});
    std::vector<float> want(2 * 16);
    layer.attention.forward({query.data() + b * 32, {2, 16}}, keys, keys, {want.data(), {2, 16}},
                            alone, context());
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(got[static_cast<std::size_t>(b) * 32 + i], want[i], 1e-6);
    }
  }
}

TEST_P(MultiHeadAttentionTest, terms_of_a_call_stand_in_place_of_the_layers_own) {
  Random random;
  const Layer with({.d_model = 12, .num_heads = 2, .positions = {.alibi = true}, .sinks = true},
                   random);
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

// ---- Cache

/// Self-attention over x (B, N, E), given in pieces of the sizes given.
std::vector<float> in_pieces(const MultiHeadAttention& attention, const std::vector<float>& x,
                             std::int64_t batch, const std::vector<std::int64_t>& sizes,
                             attn::Context& context, const AttentionOptions& options) {
  const std::int64_t e = attention.options().d_model;
  const std::int64_t length = std::ssize(x) / batch / e;
  std::vector<float> y(x.size(), 77.0F);
  const attn::ConstTensor in(x.data(), {batch, length, e});
  const attn::Tensor out(y.data(), {batch, length, e});
  attn::KeyValueCache cache = attention.make_cache(batch, 3);
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const attn::ConstTensor tokens = in.slice(1, begin, begin + size);
    attention.forward(tokens, tokens, tokens, out.slice(1, begin, begin + size), cache, options,
                      context);
    begin += size;
    EXPECT_EQ(cache.length(), begin);
  }
  EXPECT_EQ(begin, length);
  return y;
}

TEST_P(MultiHeadAttentionTest, a_cache_gives_what_the_whole_sequence_gives) {
  Random random;
  const MultiHeadAttentionOptions cases[] = {
      {.d_model = 20, .num_heads = 2, .bias = true},
      {.d_model = 24, .num_heads = 4, .num_kv_heads = 2, .positions = {.rotary = {{}}}},
      {.d_model = 16,
       .num_heads = 2,
       .positions = {.alibi = true,
                     .t5_bias = attn::T5BiasOptions{.bidirectional = false},
                     .max_relative_distance = 2},
       .sinks = true},
  };
  for (const MultiHeadAttentionOptions& options : cases) {
    const Layer layer(options, random);
    const std::vector<float> x = random.normals(2 * 13 * layer.e());
    for (const bool windowed : {false, true}) {
      AttentionOptions attention;
      attention.causal = attn::Diagonal::top_left();
      if (windowed) attention.window = attn::Window{.left = 4};
      const std::vector<float> whole = self_attention(layer.attention, x, 2, context(), attention);
      // Pieces of more than one token take the same path through the kernels.
      EXPECT_TRUE(
          same_bits(in_pieces(layer.attention, x, 2, {5, 2, 6}, context(), attention), whole));
      const std::vector<float> one_by_one =
          in_pieces(layer.attention, x, 2, std::vector<std::int64_t>(13, 1), context(), attention);
      for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(one_by_one[i], whole[i], 3e-6);
    }
  }
}

TEST_P(MultiHeadAttentionTest, cross_attention_projects_its_keys_once) {
  Random random;
  const Layer layer({.d_model = 16, .num_heads = 2, .key_dim = 5, .value_dim = 7, .bias = true},
                    random);
  const std::vector<float> query = random.normals(2 * 4 * 16);
  const std::vector<float> key = random.normals(2 * 6 * 5), value = random.normals(2 * 6 * 7);
  const attn::ConstTensor keys(key.data(), {2, 6, 5}), values(value.data(), {2, 6, 7});
  std::vector<float> want(query.size()), got(query.size());
  layer.attention.forward({query.data(), {2, 4, 16}}, keys, values, {want.data(), {2, 4, 16}}, {},
                          context());
  attn::KeyValueCache cache = layer.attention.make_cache(2, 6);
  layer.attention.append(keys, values, cache, context());
  layer.attention.attend({query.data(), {2, 4, 16}}, cache, {got.data(), {2, 4, 16}}, {},
                         context());
  EXPECT_TRUE(same_bits(got, want));
  EXPECT_EQ(cache.length(), 6);
}

TEST_P(MultiHeadAttentionTest, a_call_that_fails_leaves_cache_and_outputs_untouched) {
  Random random;
  const Layer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}}, random);
  const std::vector<float> x = random.normals(5 * 16);
  const attn::ConstTensor tokens(x.data(), {5, 16});
  attn::KeyValueCache cache = layer.attention.make_cache(1, 2);
  layer.attention.append(tokens, tokens, cache, context());
  const std::vector<float> before(cache.keys().data(), cache.keys().data() + 5 * 8);
  std::vector<float> y(5 * 16, 5.0F);
  AttentionOptions wrong;
  wrong.softcap = -1;
  EXPECT_EQ(attn_test::error_of([&] {
              layer.attention.forward(tokens, tokens, tokens, {y.data(), {5, 16}}, cache, wrong,
                                      context());
            }),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above it");
  EXPECT_EQ(cache.length(), 5);
  EXPECT_TRUE(same_bits({cache.keys().data(), cache.keys().data() + 5 * 8}, before));
  // Out of memory at any moment.
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  std::int64_t failures = 0;
  for (;; ++failures) {
    const bool done = attn_test::succeeds_with_allocations(failures, [&] {
      layer.attention.forward(tokens, tokens, tokens, {y.data(), {5, 16}}, cache, {}, fresh);
    });
    if (done) break;
    ASSERT_EQ(cache.length(), 5);
    ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << failures;
    fresh.release_memory();
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(cache.length(), 10);
}

TEST_P(MultiHeadAttentionTest, decoding_with_room_in_the_cache_does_not_allocate) {
  Random random;
  const Layer layer({.d_model = 16, .num_heads = 2, .positions = {.alibi = true}}, random);
  const std::vector<float> x = random.normals(16);
  std::vector<float> y(16);
  attn::KeyValueCache cache = layer.attention.make_cache(1, 40);
  const auto step = [&] {
    const attn::ConstTensor token(x.data(), {1, 16});
    layer.attention.forward(token, token, token, {y.data(), {1, 16}}, cache,
                            {.causal = attn::Diagonal::top_left()}, context());
  };
  for (int i = 0; i < 20; ++i) step();
  cache.clear();
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 15; ++i) step();
  EXPECT_EQ(probe.count(), 0);
}

TEST(MultiHeadAttentionErrorTest, caches_and_positions) {
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

  const MultiHeadAttention attention({.d_model = 8, .num_heads = 2});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  const attn::ConstTensor tokens(x.data(), {2, 3, 8});
  attn::KeyValueCache other(2, 2, 5, 4);
  EXPECT_EQ(attn_test::error_of([&] { attention.append(tokens, tokens, other); }),
            "shape_mismatch: cache: got shape (2, 2, 0, 5), needs shape (2, 2, any, 4)");
  attn::KeyValueCache smaller = attention.make_cache(1);
  EXPECT_EQ(attn_test::error_of(
                [&] { attention.forward(tokens, tokens, tokens, {y.data(), {2, 3, 8}}, smaller); }),
            "shape_mismatch: cache: got shape (1, 2, 0, 4), needs shape (2, 2, any, 4)");
  EXPECT_EQ(attn_test::error_of([&] { attention.append({x.data(), {8}}, tokens, smaller); }),
            "shape_mismatch: key: got shape (8), needs rank 2 (N, key_dim) or 3 (B, N, key_dim)");
  EXPECT_EQ(attn_test::error_of([&] { attention.attend(tokens, smaller, {y.data(), {3, 8}}); }),
            "shape_mismatch: output: got shape (3, 8), needs shape (2, 3, 8)");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

TEST(MultiHeadAttentionParametersTest, positions_follow_pytorchs) {
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
  EXPECT_EQ(
      attn_test::error_of([&] { attention.forward(in, in, in, {y.data(), {6, 4}}, options); }),
      "invalid_argument: valid_lens: got 7, needs a length between 0 and the 6 keys");
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
            "invalid_argument: initialize_identity: needs keys and values with d_model columns and "
            "as many heads as queries");
}

}  // namespace
