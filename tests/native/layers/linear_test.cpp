#include "attn/layers/linear.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/embedding.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/linear.hpp"

namespace {

using attn::Linear;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

/// A layer with normally distributed weights, and the same weights for the reference.
struct LinearLayer {
  std::vector<float> weight, bias;
  Linear linear;

  LinearLayer(std::int64_t in, std::int64_t out, bool with_bias, Random& random)
      : weight(random.normals(in * out)),
        bias(random.normals(with_bias ? out : 0)),
        linear(in, out, with_bias) {
    linear.set_parameter("weight", {weight.data(), {out, in}});
    if (with_bias) linear.set_parameter("bias", {bias.data(), {out}});
  }

  reference::Bounded expected(const std::vector<float>& x, std::int64_t rows) const {
    return reference::linear(
        {reference::Array({rows, linear.in_features()}, x), {}},
        reference::Array({linear.out_features(), linear.in_features()}, weight),
        bias.empty() ? reference::Array() : reference::Array({linear.out_features()}, bias));
  }

  std::vector<float> forward(const std::vector<float>& x, std::int64_t rows,
                             attn::Context& context) const {
    FloatTensor output = FloatTensor::filled({rows, linear.out_features()}, 77.0F);
    linear.forward({x.data(), {rows, linear.in_features()}}, output.view(), context);
    EXPECT_TRUE(output.gaps_are_untouched());
    return output.values();
  }
};

using LinearTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(LinearTest);

TEST_P(LinearTest, computes_x_times_weight_transposed_plus_bias) {
  Linear linear(3, 2);
  const std::vector<float> weight{1, 2, 3, -1, 0, 1}, bias{0.5F, -0.5F}, x{1, 1, 1, 2, 0, -1};
  linear.set_parameter("weight", {weight.data(), {2, 3}});
  linear.set_parameter("bias", {bias.data(), {2}});
  std::vector<float> y(4);
  linear.forward({x.data(), {2, 3}}, {y.data(), {2, 2}}, context());
  EXPECT_THAT(y, ::testing::ElementsAre(6.5F, -0.5F, -0.5F, -3.5F));
}

TEST_P(LinearTest, is_zero_at_first) {
  const Linear linear(3, 2);
  const std::vector<float> x{1, 1, 1};
  std::vector<float> y(2, 9);
  linear.forward({x.data(), {1, 3}}, {y.data(), {1, 2}}, context());
  EXPECT_THAT(y, ::testing::Each(0.0F));
}

TEST_P(LinearTest, matches_the_reference_at_every_width) {
  Random random;
  for (const std::int64_t in : {1, 2, 3, 16, 17, 100, 255, 256, 257, 515}) {
    for (const std::int64_t out : {1, 3, 4, 15, 16, 17, 31, 32, 33, 100}) {
      for (const bool bias : {false, true}) {
        SCOPED_TRACE(std::to_string(in) + " → " + std::to_string(out) + (bias ? " + bias" : ""));
        const LinearLayer layer(in, out, bias, random);
        const std::vector<float> x = random.normals(5 * in);
        const reference::Bounded expected = layer.expected(x, 5);
        EXPECT_TRUE(is_within(layer.forward(x, 5, context()), expected.exact, expected.error));
      }
    }
  }
}

TEST_P(LinearTest, is_as_accurate_as_stated) {
  Random random;
  attn_test::LargestError largest("linear / ((in_features + 1) · (sum|x·w| + |b|))", 6e-8);
  for (const std::int64_t in : {1, 2, 3, 10, 100, 257, 768, 3000}) {
    for (const bool with_bias : {false, true}) {
      const LinearLayer layer(in, 40, with_bias, random);
      const std::vector<float> x = random.normals(20 * in);
      const std::vector<float> got = layer.forward(x, 20, context());
      const reference::Bounded expected = layer.expected(x, 20);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t row = i / 40, out = i % 40, width = static_cast<std::size_t>(in);
        double magnitude = with_bias ? std::abs(layer.bias[out]) : 0;
        for (std::size_t k = 0; k < width; ++k) {
          magnitude +=
              std::abs(static_cast<double>(x[row * width + k]) * layer.weight[out * width + k]);
        }
        largest.add((got[i] - expected.exact.values[i]) / magnitude / static_cast<double>(in + 1));
      }
    }
  }
}

TEST_P(LinearTest, matches_the_reference_at_every_number_of_rows) {
  Random random;
  const LinearLayer layer(37, 45, true, random);
  for (const std::int64_t rows :
       {1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 47, 48, 49, 55, 56, 57, 96, 97, 113}) {
    SCOPED_TRACE(rows);
    const std::vector<float> x = random.normals(rows * 37);
    const reference::Bounded expected = layer.expected(x, rows);
    EXPECT_TRUE(is_within(layer.forward(x, rows, context()), expected.exact, expected.error));
  }
}

TEST_P(LinearTest, any_number_of_threads_and_rows_gives_the_same_bits) {
  Random random;
  const LinearLayer layer(300, 700, true, random);
  const std::vector<float> x = random.normals(60 * 300);
  const std::vector<float> one = layer.forward(x, 60, context(1));
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(layer.forward(x, 60, context(threads)), one)) << threads;
  }
  for (const std::int64_t row : {0, 1, 47, 59}) {
    EXPECT_TRUE(
        same_bits(layer.forward({x.begin() + row * 300, x.begin() + (row + 1) * 300}, 1, context()),
                  {one.begin() + row * 700, one.begin() + (row + 1) * 700}))
        << row;
  }
}

TEST_P(LinearTest, every_layout_gives_the_same_bits) {
  Random random;
  const LinearLayer layer(33, 50, true, random);
  const std::vector<float> x = random.normals(3 * 20 * 33);
  const std::vector<float> contiguous = layer.forward(x, 60, context());
  for (const Layout from :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    for (const Layout to :
         {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      const FloatTensor input({3, 20, 33}, x, from);
      FloatTensor output = FloatTensor::filled({3, 20, 50}, 77.0F, to);
      layer.linear.forward(input.view(), output.view(), context());
      EXPECT_TRUE(same_bits(output.values(), contiguous));
      EXPECT_TRUE(output.gaps_are_untouched());
    }
  }
}

TEST_P(LinearTest, rows_with_any_stride_give_the_same_bits) {
  constexpr std::int64_t kRows = 40, kDepth = 300, kOut = 50;
  Random random;
  const LinearLayer layer(kDepth, kOut, true, random);
  const std::vector<float> x = random.normals(kRows * kDepth);
  const std::vector<float> contiguous = layer.forward(x, kRows, context());
  using Strides = std::array<std::int64_t, 2>;
  // Rows 4 KB apart map to the same set of a cache. Columns with a stride other than 1 cannot be
  // read as vectors.
  for (const auto& [row, col] : {Strides{301, 1}, {1024, 1}, {2048, 1}, {1024, 3}, {1, 64}}) {
    SCOPED_TRACE(::testing::Message() << "strides " << row << ", " << col);
    std::vector<float> memory(static_cast<std::size_t>((kRows - 1) * row + (kDepth - 1) * col + 1),
                              std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < kRows * kDepth; ++i) {
      memory[i / kDepth * row + i % kDepth * col] = x[i];
    }
    const attn::ConstTensor input(memory.data(), std::array{kRows, kDepth}, std::array{row, col});
    std::vector<float> y(kRows * kOut);
    layer.linear.forward(input, attn::Tensor(y.data(), {kRows, kOut}), context());
    EXPECT_TRUE(same_bits(y, contiguous));
  }
}

TEST_P(LinearTest, parameters_of_every_layout_are_accepted) {
  Random random;
  const LinearLayer layer(33, 50, true, random);
  const std::vector<float> x = random.normals(33);
  const std::vector<float> expected = layer.forward(x, 1, context());
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    Linear other(33, 50);
    const FloatTensor weight({50, 33}, layer.weight, layout), bias({50}, layer.bias, layout);
    other.set_parameter("weight", weight.view());
    other.set_parameter("bias", bias.view());
    std::vector<float> y(50);
    other.forward({x.data(), {1, 33}}, {y.data(), {1, 50}}, context());
    EXPECT_TRUE(same_bits(y, expected));
  }
}

TEST_P(LinearTest, no_row_leaves_nothing_to_do) {
  const Linear linear(3, 2);
  linear.forward({nullptr, {0, 3}}, {nullptr, {0, 2}}, context());
  linear.forward({nullptr, {2, 0, 3}}, {nullptr, {2, 0, 2}}, context());
  linear.forward({nullptr, {0, 4, 3}}, {nullptr, {0, 4, 2}}, context());
}

TEST_P(LinearTest, nan_affects_only_its_own_row) {
  Random random;
  const LinearLayer layer(20, 40, true, random);
  std::vector<float> x = random.normals(30 * 20);
  const std::vector<float> clean = layer.forward(x, 30, context());
  x[7 * 20 + 3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> got = layer.forward(x, 30, context());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i / 40 == 7) {
      ASSERT_TRUE(std::isnan(got[i])) << i;
    } else {
      ASSERT_EQ(got[i], clean[i]) << i;
    }
  }
}

TEST_P(LinearTest, a_moved_layer_keeps_its_weights) {
  Random random;
  LinearLayer layer(5, 6, true, random);
  const std::vector<float> x = random.normals(5);
  const std::vector<float> before = layer.forward(x, 1, context());
  Linear moved = std::move(layer.linear);
  std::vector<float> y(6);
  moved.forward({x.data(), {1, 5}}, {y.data(), {1, 6}}, context());
  EXPECT_TRUE(same_bits(y, before));
}

TEST_P(LinearTest, a_tied_layer_has_the_weights_of_the_embedding) {
  Random random;
  auto embedding = std::make_unique<attn::Embedding>(
      attn::EmbeddingOptions{.num_embeddings = 19, .embedding_dim = 7, .scale_by_sqrt_dim = true});
  embedding->initialize_normal({.seed = 3});
  const Linear tied(*embedding), with_bias(*embedding, true);
  EXPECT_EQ(tied.in_features(), 7);
  EXPECT_EQ(tied.out_features(), 19);
  EXPECT_THAT(tied.parameter_names(), ::testing::IsEmpty());
  EXPECT_THAT(with_bias.parameter_names(), ::testing::ElementsAre("bias"));
  const std::vector<float> x = random.normals(3 * 7);
  const auto of = [&](const Linear& linear) {
    std::vector<float> y(3 * 19, 77.0F);
    linear.forward({x.data(), {3, 7}}, {y.data(), {3, 19}}, context());
    return y;
  };
  const auto of_weight = [&] {
    Linear linear(7, 19, false);
    linear.set_parameter("weight", embedding->parameter("weight"));
    return of(linear);
  };
  EXPECT_TRUE(same_bits(of(tied), of_weight()));
  // A layer tied to an embedding follows all changes to the embedding's weight, including changes
  // made through a model that contains both.
  embedding->initialize_normal({.seed = 4});
  const std::vector<float> drawn = of_weight();
  EXPECT_TRUE(same_bits(of(tied), drawn));
  EXPECT_TRUE(same_bits(of(with_bias), drawn));
  {
    const Linear short_lived(*embedding);
  }
  embedding->update_parameters([](const attn::Parameter& p) { p.values(0, 0) = 5; });
  const std::vector<float> changed = of_weight();
  EXPECT_FALSE(same_bits(changed, drawn));
  EXPECT_TRUE(same_bits(of(tied), changed));
  embedding.reset();
  EXPECT_TRUE(same_bits(of(tied), changed));
}

TEST_P(LinearTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const LinearLayer layer(300, 100, true, random);
  const std::vector<float> x = random.normals(60 * 300);
  std::vector<float> y(60 * 100);
  attn_test::expect_no_allocations(
      [&] { layer.linear.forward({x.data(), {60, 300}}, {y.data(), {60, 100}}, context()); });
}

// ---- bfloat16 weights

using LinearBf16Test = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(LinearBf16Test);

TEST_P(LinearBf16Test, weights_of_bfloat16_stay_within_the_stated_bound) {
  Random random;
  for (const auto [rows, in, out] : {std::array<std::int64_t, 3>{1, 1, 1},
                                     {7, 33, 17},
                                     {40, 64, 300},
                                     {100, 769, 65},
                                     {3, 1030, 530}}) {
    Linear linear(in, out, true, attn::ElementType::kBFloat16);
    std::vector<float> weight = random.normals(in * out), bias = random.normals(out);
    linear.set_parameter("weight", {weight.data(), {out, in}});
    linear.set_parameter("bias", {bias.data(), {out}});
    for (float& w : weight) w = attn::BFloat16(w);
    std::vector<float> kept(weight.size());
    linear.read_parameter("weight", {kept.data(), {out, in}});
    EXPECT_TRUE(same_bits(kept, weight));

    const std::vector<float> x = random.normals(rows * in);
    const reference::Array exact_weight({out, in}, weight), exact_bias({out}, bias);
    reference::Bounded expected =
        reference::linear({reference::Array({rows, in}, x), {}}, exact_weight, exact_bias);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < out; ++o) {
        double magnitude = 0;
        for (std::int64_t i = 0; i < in; ++i) {
          magnitude += std::abs(static_cast<double>(x[static_cast<std::size_t>(r * in + i)]) *
                                exact_weight.at({o, i}));
        }
        expected.error.at({r, o}) += (0x1p-8 + 0x1p-16) * magnitude;
      }
    }
    std::vector<float> y(static_cast<std::size_t>(rows * out));
    linear.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, context());
    EXPECT_TRUE(is_within(y, expected.exact, expected.error)) << rows << ", " << in << ", " << out;

    // Results are bit-identical for any number of threads and any number of rows.
    std::vector<float> alone(y.size());
    linear.forward({x.data(), {rows, in}}, {alone.data(), {rows, out}}, context(1));
    EXPECT_TRUE(same_bits(alone, y));
    for (std::int64_t r = 0; r < rows; ++r) {
      linear.forward({x.data() + r * in, {1, in}}, {alone.data() + r * out, {1, out}}, context(3));
    }
    EXPECT_TRUE(same_bits(alone, y));
  }
}

/// Returns a matrix (rows, cols) stored column by column.
std::vector<float> transposed(const std::vector<float>& x, std::int64_t rows, std::int64_t cols) {
  std::vector<float> result;
  for (std::int64_t c = 0; c < cols; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) {
      result.push_back(x[static_cast<std::size_t>(r * cols + c)]);
    }
  }
  return result;
}

/// A layer with 16-bit weights, and a layer with the same weights as float32.
struct StoredLinear {
  StoredLinear(std::int64_t in, std::int64_t out, attn::WeightFormat format, Random& random)
      : stored(in, out, true, format), floats(in, out), weight(random.normals(in * out)) {
    const std::vector<float> bias = random.normals(out);
    // Some weights are near the ends of float16's range.
    for (std::size_t i = 0; i < weight.size(); i += 7) weight[i] *= i % 2 == 0 ? 0x1p-22F : 0x1p13F;
    stored.set_parameter("weight", {weight.data(), {out, in}});
    stored.read_parameter("weight", {weight.data(), {out, in}});
    floats.set_parameter("weight", {weight.data(), {out, in}});
    stored.set_parameter("bias", {bias.data(), {out}});
    floats.set_parameter("bias", {bias.data(), {out}});
  }
  Linear stored, floats;
  std::vector<float> weight;
};

constexpr std::array kStoredFormats = {
    attn::WeightFormat(attn::ElementType::kFloat16),
    attn::WeightFormat(attn::ElementType::kBFloat16, /*rounds_inputs=*/false)};

TEST_P(LinearBf16Test, weights_of_16_bits_give_the_bits_of_float32_weights) {
  Random random;
  for (const attn::WeightFormat format : kStoredFormats) {
    for (const auto [in, out] : {std::array<std::int64_t, 2>{1, 1},
                                 {2, 16},
                                 {33, 17},
                                 {64, 300},
                                 {257, 70},
                                 {769, 65},
                                 {1030, 530}}) {
      StoredLinear linear(in, out, format, random);
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 40}) {
        const std::vector<float> x = random.normals(rows * in);
        const std::size_t size = static_cast<std::size_t>(rows * out);
        std::vector<float> y(size), expected(size);
        for (const int threads : {1, 3}) {
          linear.stored.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, context(threads));
          linear.floats.forward({x.data(), {rows, in}}, {expected.data(), {rows, out}},
                                context(threads));
          EXPECT_TRUE(same_bits(y, expected)) << rows << ", " << in << ", " << out;
        }
        // Strides may be arbitrary; here inputs and outputs are stored column by column.
        const std::vector<float> columns = transposed(x, rows, in);
        const std::int64_t x_strides[] = {1, rows}, y_strides[] = {1, rows};
        const std::int64_t x_shape[] = {rows, in}, y_shape[] = {rows, out};
        linear.stored.forward({columns.data(), x_shape, x_strides}, {y.data(), y_shape, y_strides},
                              context());
        EXPECT_TRUE(same_bits(transposed(y, out, rows), expected));
      }
    }
  }
}

TEST_P(LinearBf16Test, weights_of_16_bits_that_are_not_finite_affect_only_their_own_output) {
  constexpr std::int64_t kIn = 37, kOut = 21;
  Random random;
  for (const attn::WeightFormat format : kStoredFormats) {
    StoredLinear linear(kIn, kOut, format, random);
    linear.weight[2 * kIn + 3] = NAN;
    linear.weight[5 * kIn + 8] = INFINITY;
    linear.weight[20 * kIn + 36] = -INFINITY;
    const attn::ConstTensor weight(linear.weight.data(), {kOut, kIn});
    linear.stored.set_parameter("weight", weight);
    for (const std::int64_t rows : {1, 5, 20}) {
      const std::vector<float> x(static_cast<std::size_t>(rows * kIn), 0.5F);
      std::vector<float> y(static_cast<std::size_t>(rows * kOut));
      linear.stored.forward({x.data(), {rows, kIn}}, {y.data(), {rows, kOut}}, context());
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t out = i % kOut;
        EXPECT_EQ(std::isnan(y[i]), out == 2) << i;
        EXPECT_EQ(std::isinf(y[i]), out == 5 || out == 20) << i;
      }
    }
  }
}

TEST(LinearParametersTest, of_bfloat16_stay_bfloat16) {
  Linear linear(3, 2, true, attn::ElementType::kBFloat16);
  EXPECT_THAT(linear.parameter_names(), ::testing::ElementsAre("weight", "bias"));
  EXPECT_EQ(linear.parameter_type("weight"), attn::ElementType::kBFloat16);
  EXPECT_EQ(linear.parameter_type("bias"), attn::ElementType::kFloat32);
  EXPECT_EQ(attn_test::error_of([&] { (void)linear.parameter("weight"); }),
            "unsupported: weight: got a parameter stored as bfloat16, needs read_parameter()");
  linear.initialize_xavier(4);
  Linear floats(3, 2);
  floats.initialize_xavier(4);
  std::vector<float> weight(6);
  linear.read_parameter("weight", {weight.data(), {2, 3}});
  for (std::size_t i = 0; i < weight.size(); ++i) {
    EXPECT_EQ(weight[i], attn::BFloat16(floats.parameter("weight").data()[i]));
  }
  linear.update_parameters([](const attn::Parameter& p) {
    if (p.name == "weight") p.values(1, 2) = 1.001F;
  });
  linear.read_parameter("weight", {weight.data(), {2, 3}});
  EXPECT_EQ(weight[5], 1.0F);
  EXPECT_EQ(attn_test::error_of([] { const Linear wrong(3, 2, true, attn::ElementType::kInt8); }),
            "invalid_argument: weight_type: got int8, needs float32, float16 or bfloat16");
}

// ---- Parameters and errors

TEST(LinearParametersTest, have_pytorch_names_and_shapes) {
  const Linear with_bias(3, 2), without(3, 2, false);
  EXPECT_THAT(with_bias.parameter_names(), ::testing::ElementsAre("weight", "bias"));
  EXPECT_THAT(without.parameter_names(), ::testing::ElementsAre("weight"));
  EXPECT_THAT(with_bias.parameter("weight").shape(), ::testing::ElementsAre(2, 3));
  EXPECT_THAT(with_bias.parameter("bias").shape(), ::testing::ElementsAre(2));
}

TEST(LinearParametersTest, are_read_as_they_were_set) {
  Linear linear(2, 2);
  const std::vector<float> weight{1, 2, 3, 4};
  linear.set_parameter("weight", {weight.data(), {2, 2}});
  const attn::ConstTensor got = linear.parameter("weight");
  EXPECT_EQ(std::vector<float>(got.data(), got.data() + 4), weight);
}

TEST(LinearErrorTest, sizes_below_one) {
  EXPECT_EQ(attn_test::error_of([] { Linear(0, 2); }),
            "invalid_argument: in_features: got 0, needs 1 or more");
  EXPECT_EQ(attn_test::error_of([] { Linear(2, -3); }),
            "invalid_argument: out_features: got -3, needs 1 or more");
}

TEST(LinearErrorTest, sizes_beyond_the_address_space) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(attn_test::error_of([] { Linear(kHuge, kHuge); }),
              ::testing::StartsWith("size_overflow: weight: "));
  EXPECT_THAT(attn_test::error_or_bad_alloc([] { Linear(kHuge, kHuge / 4); }),
              ::testing::AnyOf(::testing::StartsWith("size_overflow: "), "bad_alloc"));
}

TEST(LinearErrorTest, shapes) {
  const Linear linear(3, 2);
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  const auto error = [&](std::initializer_list<std::int64_t> in,
                         std::initializer_list<std::int64_t> out) {
    return attn_test::error_of([&] { linear.forward({x.data(), in}, {y.data(), out}); });
  };
  EXPECT_EQ(error({3}, {2}),
            "shape_mismatch: x: got shape (3), needs rank 2 (N, in_features) or 3 (B, N, "
            "in_features)");
  EXPECT_EQ(error({1, 1, 1, 3}, {1, 1, 1, 2}),
            "shape_mismatch: x: got shape (1, 1, 1, 3), needs rank 2 (N, in_features) or 3 (B, N, "
            "in_features)");
  EXPECT_EQ(error({4, 2}, {4, 2}), "shape_mismatch: x: got shape (4, 2), needs shape (any, 3)");
  EXPECT_EQ(error({4, 3}, {4, 3}), "shape_mismatch: output: got shape (4, 3), needs shape (4, 2)");
  EXPECT_EQ(error({5, 4, 3}, {4, 2}),
            "shape_mismatch: output: got shape (4, 2), needs shape (5, 4, 2)");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

TEST(LinearErrorTest, missing_memory) {
  const Linear linear(3, 2);
  std::vector<float> y(2);
  EXPECT_EQ(attn_test::error_of([&] { linear.forward({nullptr, {1, 3}}, {y.data(), {1, 2}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(attn_test::error_of([&] { linear.forward({y.data(), {0, 3}}, {nullptr, {0, 2}}); }),
            "nothing");
}

TEST(LinearErrorTest, parameters) {
  Linear linear(3, 2, false);
  const std::vector<float> x(6, 1.0F);
  EXPECT_EQ(attn_test::error_of([&] { linear.set_parameter("bias", {x.data(), {2}}); }),
            "not_found: name: got \"bias\", needs one of: weight");
  EXPECT_EQ(attn_test::error_of([&] { linear.set_parameter("weight", {x.data(), {3, 2}}); }),
            "shape_mismatch: weight: got shape (3, 2), needs shape (2, 3)");
  EXPECT_EQ(attn_test::error_of([&] { linear.set_parameter("weight", {nullptr, {2, 3}}); }),
            "invalid_argument: weight: got a null pointer, needs data");
  EXPECT_EQ(attn_test::error_of([&] { linear.parameter("Weight"); }),
            "not_found: name: got \"Weight\", needs one of: weight");
}

TEST(LinearErrorTest, running_out_of_memory) {
  // The layer allocates at least the weights and a copy that is packed for the kernels.
  EXPECT_GE(attn_test::out_of_memory_failures([] { const attn::Linear layer(8, 3); }), 2);
}

}  // namespace
