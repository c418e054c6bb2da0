#include "attn/layers/weight_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attn/layers/embedding.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::ElementType;
using attn::WeightFormat;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;

constexpr std::array kFormats = {WeightFormat(ElementType::kFloat16),
                                 WeightFormat(ElementType::kBFloat16, /*rounds_inputs=*/false)};

/// Draws the parameters of `stored`, and copies the rounded values to `floats`.
void draw_both(attn::Module& stored, attn::Module& floats, Random& random) {
  for (const std::string& name : stored.parameter_names()) {
    const auto shape = stored.parameter_shape(name);
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float> values = random.normals(count);
    for (float& value : values) value *= 0.2F;
    const attn::Tensor view(values.data(), shape);
    stored.set_parameter(name, view);
    stored.read_parameter(name, view);
    floats.set_parameter(name, view);
  }
}

/// Checks that two layers with the same options give the same results for several inputs (N,
/// width).
template <class Layer, class Options, class Run>
void expect_same(Options options, WeightFormat format, Random& random, Run&& run) {
  Layer floats(options);
  options.weights = format;
  Layer stored(options);
  draw_both(stored, floats, random);
  for (const std::int64_t rows : {1, 3, 20}) {
    const std::vector<float> x = random.normals(rows * 24);
    EXPECT_TRUE(same_bits(run(stored, x, rows), run(floats, x, rows))) << rows;
  }
}

using WeightFormatTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(WeightFormatTest);

TEST_P(WeightFormatTest, layers_give_the_bits_of_float32_weights) {
  Random random;
  constexpr std::int64_t kWidth = 24;
  const auto forward = [&](const auto& layer, const std::vector<float>& x, std::int64_t rows) {
    std::vector<float> y(x.size());
    layer.forward({x.data(), {rows, kWidth}}, {y.data(), {rows, kWidth}}, {}, context());
    return y;
  };
  const auto attend = [&](const auto& layer, const std::vector<float>& x, std::int64_t rows) {
    std::vector<float> y(x.size());
    const attn::ConstTensor in(x.data(), {rows, kWidth});
    layer.forward(in, in, in, {y.data(), {rows, kWidth}}, {}, context());
    return y;
  };
  for (const WeightFormat format : kFormats) {
    SCOPED_TRACE(attn::to_string(format.type));
    for (const bool bias : {false, true}) {
      attn::MultiHeadAttentionOptions attention{.d_model = kWidth, .num_heads = 4, .bias = bias};
      expect_same<attn::MultiHeadAttention>(attention, format, random, attend);
      attention.num_kv_heads = 2;
      attention.head_dim = 5;
      expect_same<attn::MultiHeadAttention>(attention, format, random, attend);
      expect_same<attn::FeedForward>(
          attn::FeedForwardOptions{.d_model = kWidth, .dim_feedforward = 37, .bias = bias}, format,
          random, forward);
      expect_same<attn::GatedFeedForward>(
          attn::GatedFeedForwardOptions{.d_model = kWidth, .dim_feedforward = 37, .bias = bias},
          format, random, forward);
    }
    for (const bool gated : {false, true}) {
      expect_same<attn::TransformerEncoderLayer>(
          attn::TransformerLayerOptions{.d_model = kWidth,
                                        .num_heads = 2,
                                        .dim_feedforward = 50,
                                        .gated_feed_forward = gated},
          format, random, forward);
    }
  }
}

TEST_P(WeightFormatTest, any_number_of_rows_gives_the_bits_of_float32_weights) {
  Random random;
  constexpr std::int64_t kIn = 300, kOut = 70;
  attn::Linear floats(kIn, kOut);
  for (const WeightFormat format : kFormats) {
    attn::Linear stored(kIn, kOut, true, format);
    draw_both(stored, floats, random);
    // With few rows, weights are widened in registers; with many rows, they are widened panel by
    // panel.
    for (const std::int64_t rows : {1, 2, 7, 16, 17, 33, 64, 65, 130}) {
      const std::vector<float> x = random.normals(rows * kIn);
      const auto run = [&](const attn::Linear& layer) {
        std::vector<float> y(static_cast<std::size_t>(rows * kOut));
        layer.forward(attn::ConstTensor(x.data(), {rows, kIn}),
                      attn::Tensor(y.data(), {rows, kOut}), context());
        return y;
      };
      EXPECT_TRUE(same_bits(run(stored), run(floats)))
          << attn::to_string(format.type) << ", " << rows;
    }
  }
}

TEST_P(WeightFormatTest, an_embedding_and_a_layer_tied_to_it_share_one_table) {
  Random random;
  for (const WeightFormat format : kFormats) {
    for (const bool scaled : {false, true}) {
      const attn::EmbeddingOptions options{
          .num_embeddings = 70, .embedding_dim = 19, .scale_by_sqrt_dim = scaled};
      attn::Embedding floats(options);
      attn::EmbeddingOptions kept = options;
      kept.weights = format;
      attn::Embedding stored(kept);
      const attn::Linear tied(stored), tied_floats(floats);
      draw_both(stored, floats, random);
      EXPECT_EQ(stored.parameter_type("weight"), format.type);
      const std::vector<std::int64_t> ids{0, 69, 3, 3, 64, 17};
      std::vector<float> rows(6 * 19), expected(rows.size());
      const std::int64_t shape[] = {2, 3, 19}, strides[] = {19, 38, 1};
      stored.forward({ids.data(), {2, 3}}, {rows.data(), shape, strides}, context());
      floats.forward({ids.data(), {2, 3}}, {expected.data(), shape, strides}, context());
      EXPECT_TRUE(same_bits(rows, expected));
      std::vector<float> logits(6 * 70), expected_logits(logits.size());
      tied.forward({rows.data(), {6, 19}}, {logits.data(), {6, 70}}, context());
      tied_floats.forward({rows.data(), {6, 19}}, {expected_logits.data(), {6, 70}}, context());
      EXPECT_TRUE(same_bits(logits, expected_logits));
    }
  }
}

/// The bits of a parameter, read as T.
template <class T>
std::vector<std::uint16_t> bits_of(const attn::Module& layer, const std::string& name) {
  const auto shape = layer.parameter_shape(name);
  std::vector<T> numbers(static_cast<std::size_t>(shape[0] * shape[1]));
  // Reads the parameter into column-major memory, although the layer stores it row by row.
  const std::array strides{std::int64_t{1}, shape[0]};
  layer.read_parameter(name, {numbers.data(), shape, strides});
  std::vector<std::uint16_t> bits;
  for (const T& number : numbers) bits.push_back(number.bits());
  return bits;
}

template <class T>
void expect_read_as(attn::Module& layer, const std::string& name) {
  const auto shape = layer.parameter_shape(name);
  std::vector<float> floats(static_cast<std::size_t>(shape[0] * shape[1]));
  const std::array strides{std::int64_t{1}, shape[0]};
  layer.read_parameter(name, {floats.data(), shape, strides});
  std::vector<std::uint16_t> want;
  for (const float number : floats) want.push_back(T(number).bits());
  EXPECT_EQ(bits_of<T>(layer, name), want);
}

TEST(WeightFormatParametersTest, are_read_as_any_type) {
  Random random;
  for (const WeightFormat format : {WeightFormat(), kFormats[0], kFormats[1]}) {
    SCOPED_TRACE(attn::to_string(format.type));
    // Tests an odd number of columns, and a parameter that consists of three matrices.
    attn::Linear linear(5, 19, true, format);
    linear.initialize_xavier(1);
    attn::MultiHeadAttention attention({.d_model = 6, .num_heads = 2, .weights = format});
    attention.initialize_xavier(2);
    expect_read_as<attn::Float16>(linear, "weight");
    expect_read_as<attn::BFloat16>(linear, "weight");
    expect_read_as<attn::Float16>(attention, "in_proj_weight");
    expect_read_as<attn::BFloat16>(attention, "in_proj_weight");
    std::vector<attn::BFloat16> bias(19, attn::BFloat16(1.0F));
    EXPECT_EQ(error_of([&] { linear.read_parameter("bias", {bias.data(), {3}}); }),
              "shape_mismatch: bias: got shape (3), needs shape (19)");
    linear.read_parameter("bias", {bias.data(), {19}});
    for (const attn::BFloat16 number : bias) EXPECT_EQ(float{number}, 0.0F);
  }
}

TEST(WeightFormatErrorTest, types_that_weights_cannot_have_are_rejected) {
  static constexpr WeightFormat kWrong = ElementType::kInt8;
  const std::string expected =
      "invalid_argument: weight_type: got int8, needs float32, float16 or bfloat16";
  EXPECT_EQ(
      error_of([] {
        const attn::Embedding wrong({.num_embeddings = 3, .embedding_dim = 2, .weights = kWrong});
      }),
      expected);
  EXPECT_EQ(
      error_of([] { const attn::MultiHeadAttention wrong({.d_model = 2, .weights = kWrong}); }),
      expected);
  EXPECT_EQ(
      error_of([] {
        const attn::FeedForward wrong({.d_model = 2, .dim_feedforward = 3, .weights = kWrong});
      }),
      expected);
}

TEST(WeightFormatErrorTest, training_needs_float32) {
  const auto refused = [](const std::string& name, const char* type) {
    return "unsupported: " + name + ": got a parameter stored as " + type +
           ", needs float32 for a gradient";
  };
  attn::Tape tape;
  const std::vector<float> x(8);
  const attn::Variable v = tape.variable({x.data(), {2, 4}});
  const attn::Linear linear(4, 3, true, ElementType::kFloat16);
  EXPECT_EQ(error_of([&] { (void)linear.forward(v); }), refused("weight", "float16"));
  const attn::MultiHeadAttention attention({.d_model = 4, .weights = ElementType::kBFloat16});
  EXPECT_EQ(error_of([&] { (void)attention.forward(v, v, v); }),
            refused("out_proj.weight", "bfloat16"));
  const attn::Embedding embedding(
      {.num_embeddings = 4, .embedding_dim = 2, .weights = ElementType::kBFloat16});
  const std::vector<std::int64_t> ids{1, 2};
  EXPECT_EQ(error_of([&] { (void)embedding.forward(tape, ids); }), refused("weight", "bfloat16"));
  attn::FeedForward network({.d_model = 4, .dim_feedforward = 3, .weights = ElementType::kFloat16});
  EXPECT_EQ(error_of([&] { (void)network.forward(v); }), refused("weight", "float16"));
  EXPECT_EQ(error_of([&] { const attn::Sgd optimizer(network); }),
            refused("linear1.weight", "float16"));
}

}  // namespace
