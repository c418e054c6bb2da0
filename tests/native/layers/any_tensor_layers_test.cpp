#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "typed_tensor.hpp"

namespace {

using attn::ElementType;
using attn_test::as_type;
using attn_test::count_of;
using attn_test::error_of;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using attn_test::TypedTensor;

constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                               ElementType::kBFloat16};

using AnyTensorLayersTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(AnyTensorLayersTest);

/// Checks forward(x, output) for every mix of element types: the result must equal, bit for bit,
/// the rounded result of a float32 call with the same numbers.
template <class Forward>
void expect_rounded(const Shape& x_shape, const Shape& y_shape, std::vector<float> numbers,
                    Forward&& forward, Layout layout = Layout::kSpread) {
  numbers[0] *= 0x1p-22F;  // subnormal as float16
  const std::vector<float> zeros(static_cast<std::size_t>(count_of(y_shape)));
  for (const ElementType x_type : kTypes) {
    for (const ElementType y_type : kTypes) {
      SCOPED_TRACE(std::string(attn::to_string(x_type)) + " to " + attn::to_string(y_type));
      TypedTensor x(x_type, x_shape, numbers, layout), y(y_type, y_shape, zeros, layout);
      TypedTensor floats(ElementType::kFloat32, x_shape, x.values(), layout);
      TypedTensor expected(ElementType::kFloat32, y_shape, zeros, layout);
      forward(floats.view(), expected.view());
      forward(x.view(), y.view());
      const std::vector<float> want = as_type(y_type, expected.values()), got = y.values();
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
          ASSERT_TRUE(std::isnan(got[i])) << i;
        } else {
          ASSERT_EQ(got[i], want[i]) << i;
        }
      }
      EXPECT_TRUE(y.gaps_are_untouched());
    }
  }
}

/// Checks `layer`.
template <class Layer>
void expect_rounded(const Layer& layer, const Shape& x_shape, const Shape& y_shape, Random& random,
                    attn::Context& context, Layout layout = Layout::kSpread) {
  expect_rounded(
      x_shape, y_shape, random.normals(count_of(x_shape)),
      [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
        if constexpr (requires { layer.forward(x, y, attn::Dropout(), context); }) {
          layer.forward(x, y, {}, context);
        } else {
          layer.forward(x, y, context);
        }
      },
      layout);
}

TEST_P(AnyTensorLayersTest, linear_computes_in_float32_and_rounds_once) {
  Random random;
  for (const attn::WeightFormat weights :
       {attn::WeightFormat(), attn::WeightFormat(ElementType::kFloat16),
        attn::WeightFormat(ElementType::kBFloat16, /*rounds_inputs=*/false)}) {
    for (const auto [rows, in, out] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {3, 33, 17}, {20, 70, 65}, {300, 9, 20}}) {
      attn::Linear layer(in, out, true, weights);
      layer.initialize_xavier(7);
      std::vector<float> numbers = random.normals(rows * in);
      if (rows > 2) numbers[static_cast<std::size_t>(2 * in)] = NAN;
      expect_rounded({rows, in}, {rows, out}, numbers,
                     [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                       layer.forward(x, y, context());
                     });
    }
  }
}

TEST_P(AnyTensorLayersTest, batches_are_converted_in_every_layout) {
  Random random;
  float none = 0;
  const attn::Linear layer = [] {
    attn::Linear made(9, 20);
    made.initialize_xavier(7);
    return made;
  }();
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kReversed}) {
    for (const auto [batch, rows] :
         {std::array<std::int64_t, 2>{0, 3}, {3, 0}, {150, 1}, {1, 150}, {3, 130}}) {
      if (batch * rows == 0) {
        layer.forward(attn::ConstAnyTensor(&none, {batch, rows, 9}),
                      attn::AnyTensor(&none, {batch, rows, 20}), context());
        continue;
      }
      expect_rounded(layer, {batch, rows, 9}, {batch, rows, 20}, random, context(), layout);
    }
  }
}

TEST_P(AnyTensorLayersTest, linear_reads_bfloat16_unchanged_where_inputs_are_rounded) {
  Random random;
  for (const auto [rows, in, out] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {3, 33, 17}, {20, 70, 65}, {40, 64, 64}}) {
    attn::Linear layer(in, out, true, ElementType::kBFloat16);
    layer.initialize_xavier(7);
    std::vector<attn::BFloat16> x;
    std::vector<float> numbers = random.normals(rows * in);
    for (float& number : numbers) number = x.emplace_back(number);
    std::vector<float> y(static_cast<std::size_t>(rows * out)), expected(y.size());
    layer.forward(attn::ConstAnyTensor(x.data(), {rows, in}), {y.data(), {rows, out}}, context());
    layer.forward({numbers.data(), {rows, in}}, {expected.data(), {rows, out}}, context());
    EXPECT_TRUE(same_bits(y, expected)) << rows << ", " << in << ", " << out;
  }
}

TEST_P(AnyTensorLayersTest, norms_compute_in_float32_and_round_once) {
  Random random;
  for (const auto [rows, width] : {std::array<std::int64_t, 2>{1, 1}, {3, 33}, {300, 70}}) {
    attn::LayerNorm layer(width);
    attn::RmsNorm root(width);
    const std::vector<float> weight = random.normals(width);
    layer.set_parameter("weight", {weight.data(), {width}});
    root.set_parameter("weight", {weight.data(), {width}});
    TypedTensor addend(ElementType::kFloat16, {rows, width}, random.normals(rows * width));
    std::vector<float> numbers = random.normals(rows * width);
    if (rows > 2) numbers[static_cast<std::size_t>(2 * width)] = NAN;
    expect_rounded({rows, width}, {rows, width}, numbers,
                   [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                     layer.forward(x, y, context());
                   });
    expect_rounded({rows, width}, {rows, width}, numbers,
                   [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                     root.forward_sum(x, addend.view(), y, context());
                   });
  }
}

TEST_P(AnyTensorLayersTest, feed_forward_networks_round_once) {
  Random random;
  attn::FeedForward network(
      {.d_model = 19, .dim_feedforward = 33, .activation = attn::Activation::kGelu});
  attn::GatedFeedForward gated({.d_model = 19, .dim_feedforward = 33});
  network.initialize_xavier(7);
  gated.initialize_xavier(8);
  for (const Shape& shape : {Shape{1, 19}, Shape{140, 19}, Shape{2, 5, 19}}) {
    expect_rounded(network, shape, shape, random, context());
    expect_rounded(gated, shape, shape, random, context());
  }
}

TEST_P(AnyTensorLayersTest, rotary_embedding_rounds_once) {
  Random random;
  for (const attn::RotaryPairing pairing :
       {attn::RotaryPairing::kHalfSplit, attn::RotaryPairing::kInterleaved}) {
    const attn::RotaryEmbedding rotary({.rotary_dim = 20, .pairing = pairing});
    const std::vector<float> cos = random.normals(40 * 10), sin = random.normals(40 * 10);
    for (const Shape& shape : {Shape{1, 20}, Shape{40, 23}, Shape{2, 3, 40, 23}}) {
      for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kTransposed}) {
        const std::vector<float> numbers = random.normals(count_of(shape));
        expect_rounded(
            shape, shape, numbers,
            [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
              rotary.forward(x, y, {.start = 5}, context());
            },
            layout);
        expect_rounded(
            shape, shape, numbers,
            [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
              attn::apply_rotary_embedding(x, {cos.data(), {40, 10}}, {sin.data(), {40, 10}}, y,
                                           {.pairing = pairing}, context());
            },
            layout);
      }
    }
  }
}

TEST_P(AnyTensorLayersTest, rotary_embedding_rotates_in_place) {
  Random random;
  const attn::RotaryEmbedding rotary({.rotary_dim = 4});
  for (const ElementType type : kTypes) {
    TypedTensor x(type, {9, 6}, random.normals(54)), y(type, {9, 6}, std::vector<float>(54));
    rotary.forward(x.view(), y.view(), {}, context());
    rotary.forward(x.view(), x.view(), {}, context());
    EXPECT_TRUE(same_bits(x.values(), y.values()));
  }
}

TEST_P(AnyTensorLayersTest, embedding_rounds_once) {
  Random random;
  const std::vector<std::int64_t> ids = {3, 0, 6, 3, 1, 2};
  for (const ElementType weights : kTypes) {
    attn::Embedding layer({.num_embeddings = 7,
                           .embedding_dim = 19,
                           .scale_by_sqrt_dim = true,
                           .weights = attn::WeightFormat(weights)});
    layer.initialize_xavier(7);
    for (const ElementType type : kTypes) {
      const std::vector<float> zeros(6 * 19);
      TypedTensor y(type, {2, 3, 19}, zeros, Layout::kSpread);
      TypedTensor expected(ElementType::kFloat32, {2, 3, 19}, zeros);
      const attn::IdView view(ids.data(), {2, 3});
      layer.forward(view, expected.view(), context());
      layer.forward(view, y.view(), context());
      EXPECT_TRUE(same_bits(y.values(), as_type(type, expected.values())));
      EXPECT_TRUE(y.gaps_are_untouched());
    }
  }
}

TEST_P(AnyTensorLayersTest, multi_head_attention_rounds_once) {
  Random random;
  attn::MultiHeadAttention layer({.d_model = 24,
                                  .num_heads = 4,
                                  .num_kv_heads = 2,
                                  .key_dim = 10,
                                  .value_dim = 11,
                                  .positions = {.rotary = attn::RotaryEmbeddingOptions()}});
  layer.initialize_xavier(7);
  TypedTensor key(ElementType::kBFloat16, {2, 6, 10}, random.normals(120), Layout::kSpread);
  TypedTensor value(ElementType::kFloat16, {2, 6, 11}, random.normals(132));
  TypedTensor float_key(ElementType::kFloat32, {2, 6, 10}, key.values());
  TypedTensor float_value(ElementType::kFloat32, {2, 6, 11}, value.values());
  // The first call of each pair passes all tensors as float32.
  const auto is_float = [](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
    return x.type() == ElementType::kFloat32 && y.type() == ElementType::kFloat32;
  };
  expect_rounded({2, 6, 24}, {2, 6, 24}, random.normals(2 * 6 * 24),
                 [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                   const bool floats = is_float(x, y);
                   layer.forward(x, floats ? float_key.view() : key.view(),
                                 floats ? float_value.view() : value.view(), y,
                                 {.attention = {.causal = true}}, context());
                 });
  expect_rounded({2, 6, 24}, {2, 6, 24}, random.normals(2 * 6 * 24),
                 [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                   const bool floats = is_float(x, y);
                   attn::KeyValueCache cache = layer.make_cache(2);
                   layer.append(floats ? float_key.view() : key.view(),
                                floats ? float_value.view() : value.view(), cache, context());
                   layer.attend(x, cache, y, {}, context());
                 });
}

TEST_P(AnyTensorLayersTest, transformers_round_once) {
  Random random;
  TypedTensor memory(ElementType::kFloat16, {2, 4, 16}, random.normals(128));
  for (const bool norm_first : {false, true}) {
    const attn::TransformerLayerOptions options = {
        .d_model = 16, .num_heads = 2, .dim_feedforward = 24, .norm_first = norm_first};
    attn::TransformerEncoderLayer encoder_layer(options);
    attn::TransformerDecoderLayer decoder_layer(options);
    encoder_layer.initialize_xavier(7);
    decoder_layer.initialize_xavier(8);
    const Shape shape = {2, 5, 16};
    const auto encode = [&](const auto& layer) {
      expect_rounded(shape, shape, random.normals(160),
                     [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                       layer.forward(x, y, {}, context());
                     });
    };
    const auto decode = [&](const auto& layer) {
      expect_rounded(shape, shape, random.normals(160),
                     [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                       layer.forward(x, memory.view(), y, {}, context());
                     });
    };
    encode(encoder_layer);
    decode(decoder_layer);
    for (const bool final_norm : {false, true}) {
      attn::TransformerEncoder encoder(
          {.layer = options, .num_layers = 2, .final_norm = final_norm});
      attn::TransformerDecoder decoder(
          {.layer = options, .num_layers = 2, .final_norm = final_norm});
      encoder.initialize_xavier(7);
      decoder.initialize_xavier(8);
      encode(encoder);
      decode(decoder);
    }
  }
}

TEST(AnyTensorLayersErrorTest, shapes_and_data) {
  attn::Linear linear(3, 2);
  attn::LayerNorm norm(3);
  std::vector<attn::Float16> x(12), y(12, attn::Float16(5.0F));
  EXPECT_EQ(error_of([&] {
              linear.forward(attn::ConstAnyTensor(x.data(), {4, 2}),
                             attn::AnyTensor(y.data(), {4, 2}));
            }).substr(0, 17),
            "shape_mismatch: x");
  EXPECT_EQ(error_of([&] {
              linear.forward(attn::ConstAnyTensor(static_cast<attn::Float16*>(nullptr), {4, 3}),
                             attn::AnyTensor(y.data(), {4, 2}));
            }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] {
              norm.forward(attn::ConstAnyTensor(x.data(), {4, 3}),
                           attn::AnyTensor(y.data(), {3, 3}));
            }),
            "shape_mismatch: output: got shape (3, 3), needs shape (4, 3)");
  for (const attn::Float16 value : y) EXPECT_EQ(value, 5.0F);
}

}  // namespace
