// Tests apply_rotary_embedding(), which reads sines and cosines from the caller's caches, and the
// ONNX operator RotaryEmbedding, implemented with that function.

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/array.hpp"
#include "reference/rotary_embedding.hpp"
#include "shape.hpp"

namespace {

using attn::RotaryEmbedding;
using attn::RotaryPairing;
using attn_test::count_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;

/// The shapes and attributes of one call of the ONNX operator. The core and the reference both
/// compute the call.
struct OnnxCase {
  Shape input_shape;
  Shape cache_shape;
  bool position_ids = false;
  std::int64_t interleaved = 0;
  std::int64_t num_heads = 0;
  std::int64_t rotary_embedding_dim = 0;
};

using RotaryCachesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(RotaryCachesTest);

TEST_P(RotaryCachesTest, expresses_every_input_and_attribute_of_onnx) {
  Random random;
  const OnnxCase cases[] = {
      {{2, 3, 5, 8}, {50, 4}, true},
      {{2, 3, 5, 8}, {50, 4}, true, 1},
      {{2, 3, 5, 8}, {2, 5, 4}},
      {{2, 3, 5, 8}, {2, 5, 4}, false, 1},
      {{2, 3, 5, 12}, {50, 4}, true, 0, 0, 8},
      {{2, 3, 5, 12}, {2, 5, 4}, false, 1, 0, 8},
      {{2, 3, 5, 8}, {50, 4}, true, 0, 3, 8},
      {{2, 5, 24}, {50, 4}, true, 0, 3},
      {{2, 5, 24}, {50, 4}, true, 1, 3},
      {{2, 5, 24}, {2, 5, 4}, false, 0, 3},
      {{2, 5, 24}, {2, 5, 4}, false, 1, 3},
      {{2, 5, 24}, {50, 3}, true, 0, 3, 6},
      {{2, 5, 24}, {2, 5, 3}, false, 1, 3, 6},
      {{3, 4, 33, 64}, {3, 33, 32}, false, 0, 0, 0},
      {{1, 33, 256}, {40, 16}, true, 0, 4, 32},
  };
  for (const OnnxCase& c : cases) {
    SCOPED_TRACE(::testing::PrintToString(c.input_shape) + " interleaved " +
                 std::to_string(c.interleaved));
    const bool flat = c.input_shape.size() == 3;
    const std::int64_t batch = c.input_shape[0];
    const std::int64_t rows = c.input_shape[flat ? 1 : 2];
    const std::vector<float> x = random.normals(count_of(c.input_shape));
    const std::vector<float> cos = random.uniforms(count_of(c.cache_shape), -1, 1);
    const std::vector<float> sin = random.uniforms(count_of(c.cache_shape), -1, 1);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; c.position_ids && i < batch * rows; ++i) {
      ids.push_back(random.integer(0, c.cache_shape[0] - 1));
    }
    reference::OnnxRotaryEmbedding p;
    p.input = reference::Array(c.input_shape, x);
    p.cos_cache = reference::Array(c.cache_shape, cos);
    p.sin_cache = reference::Array(c.cache_shape, sin);
    if (c.position_ids) p.position_ids = ids;
    p.interleaved = c.interleaved;
    p.num_heads = c.num_heads;
    p.rotary_embedding_dim = c.rotary_embedding_dim;
    auto [exact, error] = reference::onnx_rotary_embedding(p);
    for (double& bound : error.values) bound *= 1.2e-7;

    std::vector<float> output(x.size(), 7.0F);
    attn::ConstTensor input(x.data(), std::span<const std::int64_t>(c.input_shape));
    attn::Tensor result(output.data(), std::span<const std::int64_t>(c.input_shape));
    if (flat) input = input.split_heads(c.num_heads);
    if (flat) result = result.split_heads(c.num_heads);
    attn::RotaryCacheOptions options;
    if (c.position_ids) options.position_ids = {ids.data(), {batch, rows}};
    options.pairing = c.interleaved != 0 ? RotaryPairing::kInterleaved : RotaryPairing::kHalfSplit;
    options.rotary_dim = c.rotary_embedding_dim;
    const std::span<const std::int64_t> cache_shape(c.cache_shape);
    attn::apply_rotary_embedding(input, {cos.data(), cache_shape}, {sin.data(), cache_shape},
                                 result, options, context());
    EXPECT_TRUE(is_within(output, exact, error));
  }
}

TEST_P(RotaryCachesTest, caches_from_tables_rotate_with_the_same_bits) {
  Random random;
  for (const RotaryPairing pairing : {RotaryPairing::kInterleaved, RotaryPairing::kHalfSplit}) {
    const RotaryEmbedding rotary({.rotary_dim = 20, .pairing = pairing});
    std::vector<float> cos(60 * 10), sin(60 * 10);
    rotary.tables({cos.data(), {60, 10}}, {sin.data(), {60, 10}}, {}, context());
    const Shape shape{2, 3, 40, 24};
    const std::vector<float> x = random.normals(count_of(shape));
    const std::span<const std::int64_t> sizes(shape);
    const auto rotate = [&](const attn::RotaryPositions& positions) {
      std::vector<float> output(x.size());
      rotary.forward({x.data(), sizes}, {output.data(), sizes}, positions, context());
      return output;
    };
    for (const bool inverse : {false, true}) {
      std::vector<float> output(x.size());
      attn::apply_rotary_embedding({x.data(), sizes}, {cos.data(), {60, 10}},
                                   {sin.data(), {60, 10}}, {output.data(), sizes},
                                   {.pairing = pairing, .inverse = inverse}, context());
      EXPECT_TRUE(same_bits(output, rotate({.inverse = inverse})));
      std::vector<std::int64_t> ids(40);
      for (std::size_t i = 0; i < 40; ++i) ids[i] = static_cast<std::int64_t>(i) + 20;
      attn::apply_rotary_embedding(
          {x.data(), sizes}, {cos.data(), {60, 10}}, {sin.data(), {60, 10}}, {output.data(), sizes},
          {.position_ids = {ids.data(), {40}}, .pairing = pairing, .inverse = inverse}, context());
      EXPECT_TRUE(same_bits(output, rotate({.start = 20, .inverse = inverse})));
    }
  }
}

TEST_P(RotaryCachesTest, caches_are_read_and_results_written_with_any_strides) {
  Random random;
  const std::vector<float> x = random.normals(2 * 3 * 21 * 12);
  const std::vector<float> cos = random.uniforms(2 * 21 * 5, -1, 1);
  const std::vector<float> sin = random.uniforms(2 * 21 * 5, -1, 1);
  std::vector<float> expected(x.size());
  attn::apply_rotary_embedding({x.data(), {2, 3, 21, 12}}, {cos.data(), {2, 21, 5}},
                               {sin.data(), {2, 21, 5}}, {expected.data(), {2, 3, 21, 12}}, {},
                               context());
  for (const Layout layout : {Layout::kHeadsInside, Layout::kSpread, Layout::kTransposed}) {
    const FloatTensor input({2, 3, 21, 12}, x, layout);
    const FloatTensor cos_cache({2, 21, 5}, cos, layout);
    const FloatTensor sin_cache({2, 21, 5}, sin, Layout::kReversed);
    auto output = FloatTensor::filled({2, 3, 21, 12}, 7.0F, layout);
    attn::apply_rotary_embedding(input.view(), cos_cache.view(), sin_cache.view(), output.view(),
                                 {}, context());
    EXPECT_TRUE(same_bits(expected, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

}  // namespace
