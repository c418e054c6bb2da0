// Tests layers with rotary positions when the call passes the positions, including positions along
// several axes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/models/language_model.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/multi_head_layer.hpp"
#include "layers/transformer_layer.hpp"
#include "random.hpp"

namespace {

using attn::ConstTensor;
using attn::KeyValueCache;
using attn::MultiHeadAttention;
using attn::MultiHeadAttentionCall;
using attn::MultiHeadAttentionOptions;
using attn::RotaryAxes;
using attn::Tensor;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::MultiHeadLayer;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;
using ::testing::Each;
using ::testing::StartsWith;
using Positions = attn::TensorView<const double>;

constexpr std::int64_t kBatch = 2, kLength = 11;
const std::vector<std::int64_t> kSections{3, 2, 2};  // pairs
constexpr std::int64_t kHeadDim = 14;

/// Positions of shape (3, B, N), counted as in Qwen2-VL: two text tokens, an image of 2 × 3
/// patches, and more text. Each entry of the batch starts at a different position.
std::vector<double> image_positions(std::int64_t batch) {
  std::vector<double> result;
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto first = static_cast<double>(5 * b);
      for (int i = 0; i < 2; ++i) result.push_back(first + i);
      for (int patch = 0; patch < 6; ++patch) {
        const int along[] = {0, patch / 3, patch % 3};
        result.push_back(first + 2 + along[axis]);
      }
      for (int i = 0; i < 3; ++i) result.push_back(first + 5 + i);
    }
  }
  return result;
}

/// Positions (3, 1, N): first, first + 1, … along each axis.
std::vector<double> text_positions(std::int64_t length, double first = 0) {
  std::vector<double> result(static_cast<std::size_t>(3 * length));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto begin = result.begin() + static_cast<std::ptrdiff_t>(axis) * length;
    std::iota(begin, begin + length, first);
  }
  return result;
}

attn::RotaryEmbeddingOptions rotation(RotaryAxes axes) {
  return {.sections = kSections, .axes = axes};
}

/// Sets the axis and the frequency of each pair, according to the definitions of Qwen2-VL, Qwen3-VL
/// and vision transformers.
void set_axes(reference::MultiHeadAttention& exact, RotaryAxes axes) {
  exact.places.axes.assign(kHeadDim / 2, 0);
  std::size_t pair = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t count = kSections[axis];
    for (std::int64_t i = 0; i < count; ++i, ++pair) {
      if (axes == RotaryAxes::kInterleaved) {
        if (axis > 0) exact.places.axes[3 * static_cast<std::size_t>(i) + axis] = axis;
        continue;
      }
      exact.places.axes[pair] = axis;
      if (axes == RotaryAxes::kAxial) {
        exact.rotary_frequencies[pair] = std::pow(10000.0L, -static_cast<long double>(i) / count);
      }
    }
  }
}

MultiHeadAttentionOptions vision_attention(RotaryAxes axes, bool qk_norm) {
  MultiHeadAttentionOptions options{.d_model = 20,
                                    .num_heads = 4,
                                    .num_kv_heads = 2,
                                    .head_dim = kHeadDim,
                                    .bias = true,
                                    .positions = {.rotary = rotation(axes)}};
  if (qk_norm) options.qk_norm = attn::RmsNormOptions{.eps = 1e-6F};
  return options;
}

using LayerPositionsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(LayerPositionsTest);

TEST_P(LayerPositionsTest, attention_along_several_axes_matches_the_reference) {
  Random random;
  for (const RotaryAxes axes :
       {RotaryAxes::kSections, RotaryAxes::kInterleaved, RotaryAxes::kAxial}) {
    for (const bool qk_norm : {false, true}) {
      const MultiHeadLayer layer(vision_attention(axes, qk_norm), random);
      const std::vector<float> x = random.normals(kBatch * kLength * 20);
      const std::vector<float> query = random.normals(kBatch * 4 * 20);
      const std::vector<double> own = image_positions(kBatch), shared = image_positions(1);
      std::vector<double> of_queries;  // (3, B, 4), at any position
      for (int i = 0; i < 3 * kBatch * 4; ++i) of_queries.push_back(std::floor(40 * random.unit()));
      reference::MultiHeadAttention exact = layer.exact();
      set_axes(exact, axes);
      const Array given({kBatch, kLength, 20}, x);
      const ConstTensor tokens(x.data(), {kBatch, kLength, 20});

      for (const bool per_entry : {false, true}) {
        const std::vector<double>& positions = per_entry ? own : shared;
        std::vector<float> y(x.size(), 77.0F);
        layer.attention.forward(
            tokens, tokens, tokens, {y.data(), {kBatch, kLength, 20}},
            {.attention = {.causal = true},
             .positions = {positions.data(), {3, per_entry ? kBatch : 1, kLength}}},
            context());
        exact.places.queries = exact.places.keys = positions;
        reference::Attention causal;
        causal.causal_offset = Array({1});
        const auto want = reference::multi_head_attention(exact, given, given, given, causal);
        EXPECT_TRUE(is_within(y, want.output.exact, want.output.error));
      }

      std::vector<float> y(query.size(), 77.0F);
      layer.attention.forward({query.data(), {kBatch, 4, 20}}, tokens, tokens,
                              {y.data(), {kBatch, 4, 20}},
                              {.positions = {of_queries.data(), {3, kBatch, 4}},
                               .key_positions = {shared.data(), {3, 1, kLength}}},
                              context());
      exact.places.queries = of_queries;
      exact.places.keys = shared;
      const auto want =
          reference::multi_head_attention(exact, Array({kBatch, 4, 20}, query), given, given);
      EXPECT_TRUE(is_within(y, want.output.exact, want.output.error));
      // Attends to keys that are stored in a cache.
      KeyValueCache cache = layer.attention.make_cache(kBatch);
      layer.attention.append(tokens, tokens, cache, context(), {shared.data(), {3, 1, kLength}});
      std::vector<float> again(query.size());
      layer.attention.attend({query.data(), {kBatch, 4, 20}}, cache,
                             {again.data(), {kBatch, 4, 20}}, {}, context(), nullptr,
                             {of_queries.data(), {3, kBatch, 4}});
      EXPECT_TRUE(same_bits(again, y));
    }
  }
}

TEST_P(LayerPositionsTest, the_index_along_every_axis_has_the_bits_of_plain_rotary_positions) {
  Random random;
  for (const RotaryAxes axes : {RotaryAxes::kSections, RotaryAxes::kInterleaved}) {
    const MultiHeadLayer layer(vision_attention(axes, false), random);
    MultiHeadAttentionOptions plain_options = layer.options;
    plain_options.positions.rotary = attn::RotaryEmbeddingOptions{
        .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 5}};
    MultiHeadAttention plain(plain_options);
    MultiHeadAttentionOptions scaled_options = layer.options;
    scaled_options.positions.rotary->scaling = plain_options.positions.rotary->scaling;
    MultiHeadAttention scaled(scaled_options);
    for (const std::string& name : plain.parameter_names()) {
      plain.set_parameter(name, layer.attention.parameter(name));
      scaled.set_parameter(name, layer.attention.parameter(name));
    }
    const std::vector<float> x = random.normals(kBatch * kLength * 20);
    const ConstTensor tokens(x.data(), {kBatch, kLength, 20});
    const std::vector<std::int32_t> key_lens{11, 7};
    const std::vector<double> index = text_positions(kLength);
    std::vector<float> want(x.size()), got(x.size());
    const auto compare = [&](const attn::AttentionOptions& attention, const Positions& positions) {
      plain.forward(tokens, tokens, tokens, {want.data(), {kBatch, kLength, 20}},
                    {.attention = attention}, context());
      scaled.forward(tokens, tokens, tokens, {got.data(), {kBatch, kLength, 20}},
                     {.attention = attention, .positions = positions}, context());
      EXPECT_TRUE(same_bits(got, want));
    };
    attn::AttentionOptions padded{.causal = true};
    padded.key_lens = {key_lens.data(), {kBatch}};
    for (const attn::AttentionOptions& attention :
         {attn::AttentionOptions(), attn::AttentionOptions{.causal = true}, padded}) {
      compare(attention, {index.data(), {3, 1, kLength}});
      compare(attention, {index.data(), {kLength}});
      compare(attention, {});
    }
    // Decodes token by token.
    KeyValueCache plain_cache = plain.make_cache(kBatch), cache = scaled.make_cache(kBatch);
    for (std::int64_t i = 0; i < kLength; ++i) {
      const ConstTensor token = tokens.slice(1, i, i + 1);
      const std::vector<double> at(3, static_cast<double>(i));
      const Tensor wanted(want.data(), {kBatch, 1, 20}), gotten(got.data(), {kBatch, 1, 20});
      plain.forward(token, token, token, wanted, {.cache = &plain_cache}, context());
      scaled.forward(token, token, token, gotten,
                     {.positions = {at.data(), {3, 1, 1}}, .cache = &cache}, context());
      EXPECT_TRUE(same_bits({got.begin(), got.begin() + kBatch * 20},
                            {want.begin(), want.begin() + kBatch * 20}))
          << i;
    }
  }
}

/// A layer of Qwen2-VL's language model.
attn::TransformerLayerOptions vision_layer() {
  return {.d_model = 20,
          .num_heads = 2,
          .dim_feedforward = 33,
          .activation = attn::Activation::kSilu,
          .gated_feed_forward = true,
          .rms_norm = attn::RmsNormOptions{.eps = 1e-6F},
          .norm_first = true,
          .bias = false,
          .attention_bias = true,
          .attention_output_bias = false,
          .num_kv_heads = 1,
          .head_dim = kHeadDim,
          .positions = {.rotary = rotation(RotaryAxes::kSections)}};
}

TEST_P(LayerPositionsTest, a_block_of_qwen2_vl_matches_the_reference) {
  Random random;
  const attn::TransformerLayerOptions options = vision_layer();
  attn::TransformerEncoderLayer layer(options);
  attn_test::randomize(layer, random);
  const std::vector<float> x = random.normals(kBatch * kLength * 20);
  const std::vector<double> positions = image_positions(kBatch);
  const attn::TransformerEncoderLayerCall call{
      .attention = {.causal = true}, .positions = {positions.data(), {3, kBatch, kLength}}};
  std::vector<float> y(x.size());
  layer.forward({x.data(), {kBatch, kLength, 20}}, {y.data(), {kBatch, kLength, 20}}, call,
                context());

  reference::TransformerLayer exact = attn_test::reference_of(layer, "", options);
  reference::MultiHeadAttention heads;
  heads.rotary_frequencies = exact.rotary_frequencies;
  set_axes(heads, RotaryAxes::kSections);
  exact.places = {.queries = positions, .keys = positions, .axes = heads.places.axes};
  reference::Attention causal;
  causal.causal_offset = Array({1});
  EXPECT_TRUE(
      is_within(y, reference::encoder_layer(exact, Array({kBatch, kLength, 20}, x), causal), 1e-5));

  attn::TransformerDecoderLayer decoder(options);
  attn_test::randomize(decoder, random);
  const std::vector<float> memory = random.normals(kBatch * 4 * 20);
  decoder.forward(
      {x.data(), {kBatch, kLength, 20}}, {memory.data(), {kBatch, 4, 20}},
      {y.data(), {kBatch, kLength, 20}},
      {.self_attention = {.causal = true}, .positions = {positions.data(), {3, kBatch, kLength}}},
      context());
  reference::TransformerLayer exact_decoder = attn_test::reference_of(decoder, "", options);
  exact_decoder.places = exact.places;
  EXPECT_TRUE(is_within(y,
                        reference::decoder_layer(exact_decoder, Array({kBatch, kLength, 20}, x),
                                                 Array({kBatch, 4, 20}, memory), causal),
                        1e-5));
}

TEST_P(LayerPositionsTest, stacks_pass_positions_to_the_layers_that_rotate_and_caches_continue) {
  Random random;
  attn::TransformerLayerOptions still = vision_layer();  // like every fourth layer of SmolLM 3
  still.positions = {};
  attn::TransformerEncoderOptions options;
  options.final_norm = true;
  options.layers = {vision_layer(), still, vision_layer()};
  attn::TransformerEncoder encoder(options);
  attn::TransformerDecoder decoder(options);
  attn::LanguageModel model({.stack = options});
  for (attn::Module* module :
       {static_cast<attn::Module*>(&encoder), static_cast<attn::Module*>(&decoder),
        static_cast<attn::Module*>(&model)}) {
    attn_test::randomize(*module, random);
  }
  for (const std::string& name : encoder.parameter_names()) {
    model.set_parameter("encoder." + name, encoder.parameter(name));
  }
  const std::vector<float> x = random.normals(kLength * 20), memory = random.normals(4 * 20);
  const std::vector<double> positions = image_positions(1);
  const Positions all(positions.data(), {3, 1, kLength});
  const ConstTensor tokens(x.data(), {kLength, 20}), other(memory.data(), {4, 20});
  std::vector<float> whole(x.size()), got(x.size());
  const Tensor to(whole.data(), {kLength, 20}), out(got.data(), {kLength, 20});

  // Computes the same result layer by layer.
  std::vector<float> y = x;
  const Tensor stream(y.data(), {kLength, 20});
  for (const attn::TransformerEncoderLayer& layer : encoder.layers()) {
    attn::TransformerEncoderLayerCall call{.attention = {.causal = true}};
    if (layer.options().positions.rotary) call.positions = all;
    layer.forward(stream, stream, call, context());
  }
  encoder.forward(tokens, to, {.attention = {.causal = true}, .positions = all}, context());
  attn::RmsNorm norm(20, *vision_layer().rms_norm);
  norm.set_parameter("weight", encoder.parameter("norm.weight"));
  norm.forward(stream, stream, context());
  EXPECT_TRUE(same_bits(whole, y));

  const auto pieces = [&](auto&& run) {
    for (const auto& [begin, end] : {std::pair(0, 5), std::pair(5, 8), std::pair(8, 11)}) {
      run(tokens.slice(0, begin, end), all.slice(2, begin, end), out.slice(0, begin, end));
    }
    EXPECT_TRUE(same_bits(got, whole));
  };
  std::vector<KeyValueCache> caches = encoder.make_caches(1);
  pieces([&](const ConstTensor& piece, const Positions& at, const Tensor& result) {
    encoder.forward(piece, result,
                    {.attention = {.causal = true}, .positions = at, .caches = caches}, context());
  });
  caches = model.make_caches();
  pieces([&](const ConstTensor& piece, const Positions& at, const Tensor& result) {
    attn::LanguageModelCall call{.positions = at, .caches = caches};
    call.hidden = result;
    model.forward(piece, {}, call, context());
  });
  decoder.forward(tokens, other, to, {.self_attention = {.causal = true}, .positions = all},
                  context());
  attn::TransformerDecoderState state = decoder.start(other, 0, context());
  pieces([&](const ConstTensor& piece, const Positions& at, const Tensor& result) {
    decoder.forward(piece, ConstTensor(), result,
                    {.self_attention = {.causal = true}, .positions = at, .state = &state},
                    context());
  });
}

TEST(LayerPositionsErrorTest, errors_name_the_problem_and_nothing_is_written) {
  const MultiHeadAttention attention(vision_attention(RotaryAxes::kSections, false));
  const MultiHeadAttention plain({.d_model = 20, .num_heads = 2, .positions = {.rotary = {{}}}});
  const MultiHeadAttention still({.d_model = 20});
  const std::vector<float> x(2 * 4 * 20);
  std::vector<float> y(x.size(), 5.0F);
  std::vector<double> numbers(100);
  const ConstTensor tokens(x.data(), {2, 4, 20});
  const Tensor out(y.data(), {2, 4, 20});
  KeyValueCache cache = attention.make_cache(2);
  const auto at = [&](std::initializer_list<std::int64_t> shape) {
    return Positions(numbers.data(), shape);
  };
  const auto error = [&](const MultiHeadAttention& layer, const Positions& positions,
                         const Positions& key_positions = {}) {
    return error_of([&] {
      layer.forward(tokens, tokens, tokens, out,
                    {.positions = positions, .key_positions = key_positions});
    });
  };
  EXPECT_EQ(error(still, at({4})),
            "invalid_argument: positions: got some positions, needs none; the layer has no rotary "
            "positions");
  EXPECT_EQ(
      error(still, {}, at({4})),
      "invalid_argument: key_positions: got some positions, needs none; the layer has no rotary "
      "positions");
  EXPECT_EQ(error(attention, at({2, 1, 4})),
            "shape_mismatch: positions: got shape (2, 1, 4), needs shape (3, 1, 4)");
  EXPECT_EQ(error(attention, at({3, 2, 5})),
            "shape_mismatch: positions: got shape (3, 2, 5), needs shape (3, 2, 4)");
  EXPECT_EQ(error(attention, at({3, 3, 4})),
            "shape_mismatch: positions: got shape (3, 3, 4), needs shape (3, 2, 4)");
  EXPECT_EQ(error(attention, at({5})), "shape_mismatch: positions: got shape (5), needs shape (4)");
  EXPECT_EQ(error(attention, at({3, 4})),
            "shape_mismatch: positions: got shape (3, 4), needs shape (2, 4)");
  EXPECT_EQ(error(attention, at({4}), at({3, 1, 5})),
            "shape_mismatch: key_positions: got shape (3, 1, 5), needs shape (3, 1, 4)");
  EXPECT_EQ(error(plain, at({3, 1, 4})),
            "shape_mismatch: positions: got shape (3, 1, 4), needs shape (4)");
  EXPECT_EQ(error_of([&] {
              attention.forward(tokens, tokens.slice(1, 0, 3), tokens.slice(1, 0, 3), out,
                                {.positions = at({3, 1, 4})});
            }),
            "invalid_argument: key_positions: got none, needs positions of the 3 keys; positions "
            "covers only the 4 queries");
  EXPECT_EQ(error_of([&] {
              attention.forward(tokens, tokens, tokens, out,
                                {.positions = at({3, 1, 3}), .cache = &cache});
            }),
            "shape_mismatch: positions: got shape (3, 1, 3), needs shape (3, 1, 4)");
  EXPECT_EQ(error_of([&] {
              attention.append(tokens, tokens, cache, attn::Context::default_context(), at({3}));
            }),
            "shape_mismatch: positions: got shape (3), needs shape (4)");
  EXPECT_EQ(cache.length(), 0);
  attention.append(tokens, tokens, cache);
  EXPECT_EQ(error_of([&] {
              attention.attend(tokens, cache, out, {}, attn::Context::default_context(), nullptr,
                               at({3}));
            }),
            "shape_mismatch: positions: got shape (3), needs shape (4)");
  numbers[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(attention, at({4})), StartsWith("invalid_argument: positions: got nan"));

  const attn::TransformerEncoder encoder({.layer = {.d_model = 20}, .num_layers = 2});
  EXPECT_EQ(
      error_of([&] { encoder.forward(tokens, out, {.positions = at({4})}); }),
      "invalid_argument: positions: got some positions, needs none; no layer has rotary positions");
  const attn::TransformerDecoder decoder({.layer = {.d_model = 20}});
  EXPECT_EQ(
      error_of([&] { decoder.forward(tokens, tokens, out, {.positions = at({4})}); }),
      "invalid_argument: positions: got some positions, needs none; no layer has rotary positions");
  EXPECT_THAT(y, Each(5.0F));
}

}  // namespace
