// Tests a MultiHeadAttention that keeps keys and values in a cache between calls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocation.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/multi_head_attention.hpp"
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

/// Self-attention over x (B, N, E), passed in pieces of the given sizes.
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
    attention.forward(tokens, tokens, tokens, out.slice(1, begin, begin + size),
                      {.attention = options, .cache = &cache}, context);
    begin += size;
    EXPECT_EQ(cache.length(), begin);
  }
  EXPECT_EQ(begin, length);
  return y;
}

using MultiHeadAttentionCacheTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MultiHeadAttentionCacheTest);

TEST_P(MultiHeadAttentionCacheTest, decoding_with_a_cache_equals_the_whole_sequence) {
  Random random;
  const MultiHeadAttentionOptions cases[] = {
      {.d_model = 20, .num_heads = 2, .bias = true},
      {.d_model = 24, .num_heads = 4, .num_kv_heads = 2, .positions = {.rotary = {{}}}},
      {.d_model = 24,
       .num_heads = 4,
       .num_kv_heads = 2,
       .qk_norm = attn::RmsNormOptions{},
       .positions = {.rotary = {{}}}},
      {.d_model = 24,
       .num_heads = 4,
       .num_kv_heads = 2,
       .qk_norm = attn::RmsNormOptions{},
       .qk_norm_all_heads = true,
       .positions = {.rotary = {{}}}},
      {.d_model = 16,
       .num_heads = 2,
       .positions = {.alibi = true,
                     .t5_bias = attn::T5BiasOptions{.bidirectional = false},
                     .max_relative_distance = 2},
       .sinks = true},
  };
  for (const MultiHeadAttentionOptions& options : cases) {
    const MultiHeadLayer layer(options, random);
    const std::vector<float> x = random.normals(2 * 13 * layer.e());
    for (const bool windowed : {false, true}) {
      AttentionOptions attention;
      attention.causal = true;
      if (windowed) attention.window = attn::Window{.left = 4};
      const std::vector<float> whole = self_attention(layer.attention, x, 2, context(), attention);
      // Pieces of two or more tokens take the same path through the kernels as the whole sequence.
      EXPECT_TRUE(
          same_bits(in_pieces(layer.attention, x, 2, {5, 2, 6}, context(), attention), whole));
      const std::vector<float> one_by_one =
          in_pieces(layer.attention, x, 2, std::vector<std::int64_t>(13, 1), context(), attention);
      for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(one_by_one[i], whole[i], 3e-6);
    }
  }
}

TEST_P(MultiHeadAttentionCacheTest, cross_attention_projects_its_keys_once) {
  Random random;
  const MultiHeadLayer layer(
      {.d_model = 16, .num_heads = 2, .key_dim = 5, .value_dim = 7, .bias = true}, random);
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

TEST_P(MultiHeadAttentionCacheTest, a_call_that_fails_leaves_cache_and_outputs_untouched) {
  Random random;
  const MultiHeadLayer layer({.d_model = 16, .num_heads = 2, .positions = {.rotary = {{}}}},
                             random);
  const std::vector<float> x = random.normals(5 * 16);
  const attn::ConstTensor tokens(x.data(), {5, 16});
  attn::KeyValueCache cache = layer.attention.make_cache(1, 2);
  layer.attention.append(tokens, tokens, cache, context());
  const std::vector<float> before(cache.keys().data(), cache.keys().data() + 5 * 8);
  std::vector<float> y(5 * 16, 5.0F);
  AttentionOptions wrong;
  wrong.softcap = -1;
  EXPECT_EQ(attn_test::error_of([&] {
              layer.attention.forward(tokens, tokens, tokens, {y.data(), {5, 16}},
                                      {.attention = wrong, .cache = &cache}, context());
            }),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  EXPECT_EQ(cache.length(), 5);
  EXPECT_TRUE(same_bits({cache.keys().data(), cache.keys().data() + 5 * 8}, before));
  // Makes each allocation fail, one after the other.
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        layer.attention.forward(tokens, tokens, tokens, {y.data(), {5, 16}}, {.cache = &cache},
                                fresh);
      },
      [&](std::int64_t allowed) {
        ASSERT_EQ(cache.length(), 5);
        ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
        fresh.release_memory();
      });
  EXPECT_EQ(cache.length(), 10);
}

TEST_P(MultiHeadAttentionCacheTest, decoding_with_free_capacity_in_the_cache_does_not_allocate) {
  Random random;
  const MultiHeadLayer layer({.d_model = 16, .num_heads = 2, .positions = {.alibi = true}}, random);
  const std::vector<float> x = random.normals(16);
  std::vector<float> y(16);
  attn::KeyValueCache cache = layer.attention.make_cache(1, 40);
  const auto step = [&] {
    const attn::ConstTensor token(x.data(), {1, 16});
    layer.attention.forward(token, token, token, {y.data(), {1, 16}},
                            {.attention = {.causal = true}, .cache = &cache}, context());
  };
  for (int i = 0; i < 20; ++i) step();
  cache.clear();
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 15; ++i) step();
  EXPECT_EQ(probe.count(), 0);
}

TEST(MultiHeadAttentionCacheErrorTest, sizes_of_the_cache) {
  const MultiHeadAttention attention({.d_model = 8, .num_heads = 2});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  const attn::ConstTensor tokens(x.data(), {2, 3, 8});
  attn::KeyValueCache other(2, 2, 5, 4);
  EXPECT_EQ(attn_test::error_of([&] { attention.append(tokens, tokens, other); }),
            "shape_mismatch: cache: got shape (2, 2, 0, 5), needs shape (2, 2, any, 4)");
  attn::KeyValueCache smaller = attention.make_cache(1);
  EXPECT_EQ(attn_test::error_of([&] {
              attention.forward(tokens, tokens, tokens, {y.data(), {2, 3, 8}}, {.cache = &smaller});
            }),
            "shape_mismatch: cache: got shape (1, 2, 0, 4), needs shape (2, 2, any, 4)");
  EXPECT_EQ(attn_test::error_of([&] { attention.append({x.data(), {8}}, tokens, smaller); }),
            "shape_mismatch: key: got shape (8), needs rank 2 (N, key_dim) or 3 (B, N, key_dim)");
  EXPECT_EQ(attn_test::error_of([&] { attention.attend(tokens, smaller, {y.data(), {3, 8}}); }),
            "shape_mismatch: output: got shape (3, 8), needs shape (2, 3, 8)");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace
