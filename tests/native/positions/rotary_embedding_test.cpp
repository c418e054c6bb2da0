#include "attn/positions/rotary_embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/rotary_embedding.hpp"
#include "shape.hpp"

namespace {

using attn::RotaryEmbedding;
using attn::RotaryEmbeddingOptions;
using attn::RotaryPairing;
using attn::RotaryPositions;
using attn_test::count_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using reference::RotaryFrequencies;

constexpr RotaryPairing kPairings[] = {RotaryPairing::kInterleaved, RotaryPairing::kHalfSplit};

/// The errors that the header states for rotated values, relative to |x| + |y|.
constexpr double kStated = 1.7e-7;
constexpr double kStatedWithFactor = 2e-7;

/// A scaling rule, as options of the core and as frequencies of the reference.
struct Rule {
  const char* name;
  RotaryEmbeddingOptions options;
  RotaryFrequencies frequencies;
};

std::vector<Rule> rules() {
  using Type = RotaryFrequencies::Type;
  return {
      {"default", {.rotary_dim = 64}, {.dim = 64}},
      {"base", {.rotary_dim = 32, .base = 500000}, {.dim = 32, .base = 500000}},
      {"linear",
       {.rotary_dim = 64, .scaling = attn::LinearRotaryScaling{.factor = 3}},
       {.dim = 64, .type = Type::kLinear, .factor = 3}},
      {"dynamic",
       {.rotary_dim = 48,
        .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 512}},
       {.dim = 48, .type = Type::kDynamic, .factor = 2, .max_position_embeddings = 512}},
      {"yarn",
       {.rotary_dim = 128,
        .scaling = attn::YarnRotaryScaling{.factor = 4, .original_max_position_embeddings = 32768}},
       {.dim = 128, .type = Type::kYarn, .factor = 4, .max_position_embeddings = 32768}},
      {"yarn with betas",
       {.rotary_dim = 64,
        .base = 150000,
        .scaling = attn::YarnRotaryScaling{.factor = 32,
                                           .original_max_position_embeddings = 4096,
                                           .beta_fast = 16,
                                           .beta_slow = 2,
                                           .truncate = false}},
       {.dim = 64,
        .base = 150000,
        .type = Type::kYarn,
        .factor = 32,
        .max_position_embeddings = 4096,
        .beta_fast = 16,
        .beta_slow = 2,
        .truncate = false}},
      {"llama3",
       {.rotary_dim = 128, .base = 500000, .scaling = attn::Llama3RotaryScaling{}},
       {.dim = 128,
        .base = 500000,
        .type = Type::kLlama3,
        .factor = 8,
        .max_position_embeddings = 8192}},
      {"llama3.2",
       {.rotary_dim = 64, .base = 500000, .scaling = attn::Llama3RotaryScaling{.factor = 32}},
       {.dim = 64,
        .base = 500000,
        .type = Type::kLlama3,
        .factor = 32,
        .max_position_embeddings = 8192}},
  };
}

/// Returns the positions 0 and 1, fractions, both ends of the supported range, and random positions
/// in that range.
std::vector<double> positions_of_all_sizes(Random& random, int count = 40) {
  std::vector<double> positions{0, 1, -1, 0.5, 2.25, 0x1p24, -0x1p24, 0x1p24 - 1};
  while (static_cast<int>(positions.size()) < count) {
    const double size = std::exp2(random.uniform(0, 24));
    const double position = random.chance(0.5) ? std::floor(size) : size;
    positions.push_back(random.chance(0.5) ? position : -position);
  }
  return positions;
}

class RotaryEmbeddingTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> rotate(const RotaryEmbedding& rotary, const std::vector<float>& x,
                            const Shape& shape, const RotaryPositions& positions = {},
                            int threads = 2) {
    std::vector<float> output(x.size(), 7.0F);
    rotary.forward({x.data(), std::span<const std::int64_t>(shape)},
                   {output.data(), std::span<const std::int64_t>(shape)}, positions,
                   context(threads));
    return output;
  }

  struct Tables {
    std::vector<float> cos, sin;
  };
  Tables tables(const RotaryEmbedding& rotary, const std::vector<double>& positions,
                bool inverse = false) {
    const auto rows = static_cast<std::int64_t>(positions.size());
    const std::int64_t half = rotary.options().rotary_dim / 2;
    Tables result;
    result.cos.assign(static_cast<std::size_t>(rows * half), 7.0F);
    result.sin = result.cos;
    rotary.tables({result.cos.data(), {rows, half}}, {result.sin.data(), {rows, half}},
                  {.positions = {positions.data(), {rows}}, .inverse = inverse}, context());
    return result;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(RotaryEmbeddingTest);

// ---- Frequencies and tables

TEST(RotaryFrequenciesTest, follow_each_rule) {
  for (Rule rule : rules()) {
    SCOPED_TRACE(rule.name);
    const RotaryEmbedding rotary(rule.options);
    for (const double length : {0.0, 512.0, 513.0, 5000.0, 1e6}) {
      rule.frequencies.sequence_length = length;
      const std::vector<long double> exact = reference::rotary_frequencies(rule.frequencies);
      const std::vector<double> got = rotary.frequencies(length);
      ASSERT_EQ(got.size(), exact.size());
      for (std::size_t j = 0; j < got.size(); ++j) {
        EXPECT_NEAR(got[j], static_cast<double>(exact[j]), 5e-16) << j;
      }
    }
  }
}

TEST(RotaryFrequenciesTest, of_llama_3_1_keep_short_waves_and_divide_long_ones) {
  const RotaryEmbedding plain({.rotary_dim = 128, .base = 500000});
  const RotaryEmbedding llama(
      {.rotary_dim = 128, .base = 500000, .scaling = attn::Llama3RotaryScaling{}});
  EXPECT_EQ(llama.frequencies()[0], plain.frequencies()[0]);
  EXPECT_EQ(llama.frequencies()[28], plain.frequencies()[28]);
  EXPECT_LT(llama.frequencies()[31], plain.frequencies()[31]);
  EXPECT_GT(llama.frequencies()[31], plain.frequencies()[31] / 8);
  EXPECT_EQ(llama.frequencies()[63], plain.frequencies()[63] / 8);
}

TEST(RotaryFrequenciesTest, yarn_has_the_attention_factor_of_its_paper_unless_told_otherwise) {
  const auto factor = [](attn::YarnRotaryScaling yarn) {
    return RotaryEmbedding({.rotary_dim = 64, .scaling = yarn}).attention_factor();
  };
  EXPECT_DOUBLE_EQ(factor({.factor = 4}), 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(factor({.factor = 1}), 1);
  EXPECT_EQ(factor({.factor = 0.5}), 1);
  EXPECT_EQ(factor({.factor = 4, .attention_factor = 1.5}), 1.5);
  // mscale and mscale_all_dim are both 0.707 in DeepSeek V2, and both 1 in DeepSeek V3.
  EXPECT_DOUBLE_EQ(factor({.factor = 40, .mscale = 0.707, .mscale_all_dim = 0.707}), 1);
  EXPECT_DOUBLE_EQ(factor({.factor = 40, .mscale = 1, .mscale_all_dim = 0.5}),
                   (0.1 * std::log(40.0) + 1) / (0.05 * std::log(40.0) + 1));
  EXPECT_DOUBLE_EQ(factor({.factor = 40, .mscale = 0.5}), 0.1 * std::log(40.0) + 1);
  EXPECT_EQ(RotaryEmbedding({.rotary_dim = 64}).attention_factor(), 1);
}

TEST_P(RotaryEmbeddingTest, tables_are_exact_over_the_promised_range) {
  Random random;
  for (Rule rule : rules()) {
    SCOPED_TRACE(rule.name);
    const RotaryEmbedding rotary(rule.options);
    const std::vector<double> positions = positions_of_all_sizes(random);
    rule.frequencies.sequence_length = *std::ranges::max_element(positions) + 1;
    const std::vector<long double> exact = reference::rotary_frequencies(rule.frequencies);
    const double a = rotary.attention_factor();
    const double per_position =
        rule.frequencies.type == RotaryFrequencies::Type::kDefault ? 4.5e-16 : 1e-15;
    const auto [cos, sin] = tables(rotary, positions);
    attn_test::LargestError largest(std::string("share of bound, tables, ") + rule.name, 1);
    for (std::size_t i = 0; i < cos.size(); ++i) {
      const double position = positions[i / exact.size()];
      const long double angle = position * exact[i % exact.size()];
      const double bound = a * ((a == 1 ? 3.1e-8 : 6e-8) + per_position * std::abs(position));
      largest.add(static_cast<double>(cos[i] - a * std::cos(angle)) / bound);
      largest.add(static_cast<double>(sin[i] - a * std::sin(angle)) / bound);
    }
  }
}

TEST_P(RotaryEmbeddingTest, tables_of_a_batch_fill_any_strides) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 22});
  std::vector<double> positions;
  for (int i = 0; i < 2 * 37; ++i) positions.push_back(random.uniform(-100, 100));
  const auto expected = tables(rotary, positions);
  const auto backwards = tables(rotary, positions, true);
  for (std::size_t i = 0; i < expected.sin.size(); ++i) {
    EXPECT_EQ(backwards.sin[i], -expected.sin[i]);
    EXPECT_EQ(backwards.cos[i], expected.cos[i]);
  }
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kTransposed}) {
    auto cos = FloatTensor::filled({2, 37, 11}, 7.0F, layout);
    auto sin = FloatTensor::filled({2, 37, 11}, 7.0F, layout);
    rotary.tables(cos.view(), sin.view(), {.positions = {positions.data(), {2, 37}}}, context());
    EXPECT_TRUE(same_bits(cos.values(), expected.cos));
    EXPECT_TRUE(same_bits(sin.values(), expected.sin));
    EXPECT_TRUE(cos.gaps_are_untouched());
    EXPECT_TRUE(sin.gaps_are_untouched());
  }
}

// ---- Rotation

TEST_P(RotaryEmbeddingTest, rotates_each_pair_by_its_angle) {
  Random random;
  attn_test::LargestError largest("rotation per |x| + |y|", kStated);
  for (const RotaryPairing pairing : kPairings) {
    for (const std::int64_t dim : {2, 4, 6, 16, 30, 32, 34, 64, 128}) {
      for (const std::int64_t rest : {0, 1, 10}) {
        const Shape shape{2, 3, 19, dim + rest};
        const std::vector<float> x = random.normals(count_of(shape));
        const RotaryEmbedding rotary({.rotary_dim = dim, .pairing = pairing});
        reference::RotaryEmbedding p{
            reference::Array(shape, x), {}, reference::rotary_frequencies({.dim = dim})};
        for (int i = 0; i < 19; ++i) p.positions.push_back(5 + i);
        p.interleaved = pairing == RotaryPairing::kInterleaved;
        const auto [exact, magnitude] = reference::rotary_embedding(p);
        const std::vector<float> got = rotate(rotary, x, shape, {.start = 5});
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (magnitude.values[i] == 0) {
            EXPECT_EQ(got[i], x[i]) << "beyond rotary_dim nothing changes";
          } else {
            largest.add((got[i] - exact.values[i]) / magnitude.values[i]);
          }
        }
      }
    }
  }
}

TEST_P(RotaryEmbeddingTest, is_exact_with_every_rule_far_out_and_back) {
  Random random;
  for (Rule rule : rules()) {
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(rule.name);
      const RotaryEmbedding rotary(rule.options);
      const double a = rotary.attention_factor();
      const std::vector<double> positions = positions_of_all_sizes(random, 20);
      const Shape shape{1, 1, 20, rule.options.rotary_dim};
      const std::vector<float> x = random.normals(count_of(shape));
      rule.frequencies.sequence_length = 9000;
      auto [exact, error] = reference::rotary_embedding(reference::RotaryEmbedding{
          reference::Array(shape, x), positions, reference::rotary_frequencies(rule.frequencies),
          false, a, inverse});
      for (double& bound : error.values) bound *= a * (a == 1 ? kStated : kStatedWithFactor);
      EXPECT_TRUE(is_within(
          rotate(
              rotary, x, shape,
              {.positions = {positions.data(), {20}}, .sequence_length = 9000, .inverse = inverse}),
          exact, error));
    }
  }
}

TEST_P(RotaryEmbeddingTest, at_position_0_changes_nothing) {
  Random random;
  for (const RotaryPairing pairing : kPairings) {
    const std::vector<float> x = random.normals(3 * 2 * 38);
    const RotaryEmbedding rotary({.rotary_dim = 38, .pairing = pairing});
    const std::vector<double> zeros(2);
    EXPECT_TRUE(same_bits(x, rotate(rotary, x, {3, 2, 38}, {.positions = {zeros.data(), {2}}})));
  }
}

TEST_P(RotaryEmbeddingTest, dynamic_ntk_takes_the_length_of_the_call_by_default) {
  Random random;
  const RotaryEmbedding rotary(
      {.rotary_dim = 16,
       .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 32}});
  const RotaryEmbedding plain({.rotary_dim = 16});
  const std::vector<float> x = random.normals(40 * 16);
  const auto with = [&](const RotaryPositions& positions) {
    return rotate(rotary, x, {40, 16}, positions);
  };
  EXPECT_TRUE(same_bits(with({}), with({.sequence_length = 40})));
  EXPECT_TRUE(same_bits(with({.start = 5}), with({.start = 5, .sequence_length = 45})));
  EXPECT_TRUE(same_bits(with({.start = -8}), rotate(plain, x, {40, 16}, {.start = -8})));
  EXPECT_FALSE(same_bits(with({.start = -7}), rotate(plain, x, {40, 16}, {.start = -7})));
  std::vector<double> positions(40);
  for (std::size_t i = 0; i < 40; ++i) positions[i] = 39.0 - static_cast<double>(i);
  const auto listed = with({.positions = {positions.data(), {40}}});
  EXPECT_TRUE(
      same_bits(listed, with({.positions = {positions.data(), {40}}, .sequence_length = 40})));
}

TEST_P(RotaryEmbeddingTest, long_rope_takes_the_factors_of_the_calls_length) {
  Random random;
  const std::vector<double> near{1, 1.5, 2, 3}, far{1, 4, 9, 16};
  const auto made = [&](const RotaryEmbeddingOptions& axes) {
    RotaryEmbeddingOptions options = axes;
    options.rotary_dim = 8;
    options.scaling = attn::LongRotaryScaling{.short_factor = near,
                                              .long_factor = far,
                                              .original_max_position_embeddings = 32,
                                              .attention_factor = 1};
    return RotaryEmbedding(options);
  };
  const auto given = [](const std::vector<double>& factors) {
    std::vector<double> frequencies;
    for (std::size_t j = 0; j < 4; ++j) {
      frequencies.push_back(std::pow(10000, -static_cast<double>(j) / 4) / factors[j]);
    }
    return RotaryEmbedding({.rotary_dim = 8, .frequencies = frequencies});
  };
  const RotaryEmbedding rotary = made({}), short_one = given(near), long_one = given(far);
  const std::vector<float> x = random.normals(33 * 8);
  const std::vector<float> first(x.begin(), x.end() - 8);
  EXPECT_TRUE(same_bits(rotate(rotary, first, {32, 8}), rotate(short_one, first, {32, 8})));
  EXPECT_TRUE(same_bits(rotate(rotary, x, {33, 8}), rotate(long_one, x, {33, 8})));
  // With a cache, the sequence length includes the past tokens.
  EXPECT_TRUE(same_bits(rotate(rotary, first, {32, 8}, {.start = 1}),
                        rotate(long_one, first, {32, 8}, {.start = 1})));
  EXPECT_TRUE(same_bits(rotate(rotary, first, {32, 8}, {.sequence_length = 100}),
                        rotate(long_one, first, {32, 8})));
  // With kAxial, frequencies start again in each section, but pair j is still divided by factor j.
  const std::vector<double> axial =
      made({.sections = {2, 2}, .axes = attn::RotaryAxes::kAxial}).frequencies(33);
  const std::vector<double> want{1, 0.01 / 4, 1.0 / 9, 0.01 / 16};
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(axial[j], want[j], 1e-15);
}

TEST(LongRotaryScalingTest, the_attention_factor_matches_the_paper) {
  const auto factor = [](double growth, std::optional<double> own = {}) {
    return RotaryEmbedding({.rotary_dim = 2,
                            .scaling = attn::LongRotaryScaling{.short_factor = {1},
                                                               .long_factor = {2},
                                                               .factor = growth,
                                                               .attention_factor = own}})
        .attention_factor();
  };
  EXPECT_NEAR(factor(32), 1.190238, 1e-6);  // √(1 + 5/12): factor 2^5, original length 2^12
  EXPECT_EQ(factor(1), 1);
  EXPECT_EQ(factor(0.5), 1);
  EXPECT_EQ(factor(32, 1.25), 1.25);
}

TEST_P(RotaryEmbeddingTest, given_frequencies_replace_base_and_scaling) {
  Random random;
  const RotaryEmbedding given({.rotary_dim = 8,
                               .base = 3,
                               .scaling = attn::YarnRotaryScaling{.factor = 8},
                               .frequencies = {1, 0.1, 0.01, 0.001}});
  const RotaryEmbedding plain({.rotary_dim = 8});
  const std::vector<float> x = random.normals(50 * 8);
  EXPECT_EQ(given.attention_factor(), 1);
  const std::vector<float> a = rotate(given, x, {50, 8});
  const std::vector<float> b = rotate(plain, x, {50, 8});
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

TEST_P(RotaryEmbeddingTest, takes_separate_positions_for_each_batch_entry) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 12, .pairing = RotaryPairing::kInterleaved});
  const Shape shape{3, 2, 40, 16};
  const std::vector<float> x = random.normals(count_of(shape));
  // A strided view: memory of shape (N, B), viewed as (B, N).
  std::vector<double> positions(3 * 40);
  for (double& position : positions) position = random.uniform(-1000, 1000);
  const Shape per_row{3, 40};
  const Shape strides{1, 3};
  const std::vector<float> all =
      rotate(rotary, x, shape,
             {.positions = attn::TensorView<const double>(positions.data(),
                                                          std::span<const std::int64_t>(per_row),
                                                          std::span<const std::int64_t>(strides))});
  const std::size_t entry = x.size() / 3;
  for (std::size_t b = 0; b < 3; ++b) {
    std::vector<double> own;
    for (std::size_t i = 0; i < 40; ++i) own.push_back(positions[i * 3 + b]);
    const auto at = [&](std::size_t entries) {
      return static_cast<std::ptrdiff_t>(entries * entry);
    };
    EXPECT_TRUE(same_bits(rotate(rotary, {x.begin() + at(b), x.begin() + at(b + 1)}, {1, 2, 40, 16},
                                 {.positions = {own.data(), {40}}}),
                          {all.begin() + at(b), all.begin() + at(b + 1)}));
  }
}

TEST_P(RotaryEmbeddingTest, any_rank_and_strides_work_and_the_output_may_be_the_input) {
  Random random;
  for (const RotaryPairing pairing : kPairings) {
    const RotaryEmbedding rotary({.rotary_dim = 38, .pairing = pairing});
    const Shape shape{2, 3, 21, 41};
    const std::vector<float> x = random.normals(count_of(shape));
    const std::vector<float> expected = rotate(rotary, x, shape, {.start = 3});
    EXPECT_TRUE(same_bits(expected, rotate(rotary, x, {6, 21, 41}, {.start = 3})));
    for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread,
                                Layout::kTransposed, Layout::kReversed}) {
      FloatTensor input(shape, x, layout);
      auto output = FloatTensor::filled(shape, 7.0F, layout);
      rotary.forward(input.view(), output.view(), {.start = 3}, context());
      EXPECT_TRUE(same_bits(expected, output.values()));
      EXPECT_TRUE(output.gaps_are_untouched());
      rotary.forward(input.view(), input.view(), {.start = 3}, context());
      EXPECT_TRUE(same_bits(expected, input.values()));
      EXPECT_TRUE(input.gaps_are_untouched());
    }
    const std::vector<float> first(expected.begin(), expected.begin() + 21 * 41);
    EXPECT_TRUE(
        same_bits(first, rotate(rotary, {x.begin(), x.begin() + 21 * 41}, {21, 41}, {.start = 3})));
  }
}

TEST_P(RotaryEmbeddingTest, rotates_the_heads_of_projections_in_place) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 8});
  std::vector<float> x = random.normals(2 * 20 * 3 * 8);
  FloatTensor heads({2, 3, 20, 8}, std::vector<float>(x.size()), Layout::kHeadsInside);
  const attn::Tensor projected(x.data(), {2, 20, 24});
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t i = 0; i < 20; ++i) {
      for (std::int64_t c = 0; c < 24; ++c) heads.view()(b, c / 8, i, c % 8) = projected(b, i, c);
    }
  }
  rotary.forward(projected.split_heads(3), projected.split_heads(3), {}, context());
  rotary.forward(heads.view(), heads.view(), {}, context());
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(heads.view()(1, 2, i, 5), projected(1, i, 2 * 8 + 5));
  }
}

TEST_P(RotaryEmbeddingTest, a_row_has_the_same_bits_among_any_other_rows) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 48});
  const std::vector<float> x = random.normals(100 * 48);
  const std::vector<float> all = rotate(rotary, x, {100, 48}, {}, 1);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(all, rotate(rotary, x, {100, 48}, {}, threads)));
  }
  const std::vector<float> last{x.end() - 48, x.end()};
  const std::vector<float> expected{all.end() - 48, all.end()};
  EXPECT_TRUE(same_bits(expected, rotate(rotary, last, {1, 48}, {.start = 99})));
  const double position = 99;
  EXPECT_TRUE(same_bits(expected, rotate(rotary, last, {1, 48}, {.positions = {&position, {1}}})));
}

TEST_P(RotaryEmbeddingTest, long_sequences_and_large_batches_rotate_like_short_ones) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 2});
  const std::vector<float> x = random.normals(4100 * 2);
  std::vector<double> positions(4100);
  for (double& position : positions) position = random.uniform(-1e6, 1e6);
  // There are more rows than the core's tables can hold at once. The rows form one sequence, a few
  // sequences, or many short sequences.
  const std::vector<float> expected =
      rotate(rotary, x, {4100, 2}, {.positions = {positions.data(), {4100}}});
  for (const std::int64_t batch : {1, 2, 4, 100, 820, 4100}) {
    EXPECT_TRUE(
        same_bits(expected, rotate(rotary, x, {batch, 4100 / batch, 2},
                                   {.positions = {positions.data(), {batch, 4100 / batch}}})))
        << batch;
  }
  for (const std::int64_t row : {0, 2047, 2048, 4099}) {
    EXPECT_TRUE(same_bits({expected.begin() + 2 * row, expected.begin() + 2 * row + 2},
                          rotate(rotary, {x.begin() + 2 * row, x.begin() + 2 * row + 2}, {1, 2},
                                 {.start = positions[static_cast<std::size_t>(row)]})));
  }
  const std::vector<float> consecutive = rotate(rotary, x, {4100, 2});
  EXPECT_TRUE(
      same_bits({consecutive.begin() + 2 * 3000, consecutive.end()},
                rotate(rotary, {x.begin() + 2 * 3000, x.end()}, {1100, 2}, {.start = 3000})));
}

TEST_P(RotaryEmbeddingTest, nan_and_infinity_reach_only_their_own_pair) {
  for (const RotaryPairing pairing : kPairings) {
    std::vector<float> x(40, 1.0F);
    x[6] = std::nanf("");
    const RotaryEmbedding rotary({.rotary_dim = 38, .pairing = pairing});
    const std::vector<float> y = rotate(rotary, x, {1, 40}, {.start = 1});
    const std::size_t partner = pairing == RotaryPairing::kInterleaved ? 7 : 6 + 19;
    for (std::size_t c = 0; c < 40; ++c) EXPECT_EQ(std::isnan(y[c]), c == 6 || c == partner) << c;
  }
}

TEST_P(RotaryEmbeddingTest, inputs_without_rows_are_accepted) {
  const RotaryEmbedding rotary({.rotary_dim = 4});
  rotary.forward({nullptr, {0, 4}}, {nullptr, {0, 4}}, {}, context());
  rotary.forward({nullptr, {2, 0, 3, 4}}, {nullptr, {2, 0, 3, 4}}, {}, context());
  rotary.tables({nullptr, {0, 2}}, {nullptr, {0, 2}}, {}, context());
}

TEST_P(RotaryEmbeddingTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> x(2 * 3 * 70 * 16);
  const RotaryEmbedding rotary(
      {.rotary_dim = 16,
       .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 8}});
  attn_test::expect_no_allocations([&] {
    rotary.forward({x.data(), {2, 3, 70, 16}}, {x.data(), {2, 3, 70, 16}}, {}, context());
  });
}

// ---- Properties

TEST_P(RotaryEmbeddingTest, scores_depend_only_on_the_distance) {
  Random random;
  for (int round = 0; round < 30; ++round) {
    const std::int64_t dim = 2 * random.integer(1, 40);
    const RotaryEmbedding rotary({.rotary_dim = dim, .pairing = kPairings[random.integer(0, 1)]});
    const std::vector<float> q = random.normals(dim);
    const std::vector<float> k = random.normals(dim);
    const double distance = random.uniform(-100, 100);
    // An upper bound on the magnitude of the score.
    const double magnitude = [&] {
      double sum = 0;
      for (std::size_t c = 0; c < q.size(); ++c) sum += double{q[c]} * q[c] + double{k[c]} * k[c];
      return sum;
    }();
    const auto score = [&](double position) {
      const std::vector<float> a = rotate(rotary, q, {1, dim}, {.start = position});
      const std::vector<float> b = rotate(rotary, k, {1, dim}, {.start = position + distance});
      double sum = 0;
      for (std::size_t c = 0; c < a.size(); ++c) sum += double{a[c]} * b[c];
      return sum;
    };
    const double here = score(0);
    for (const double position : {1.0, -77.25, 1234.5, 4e6}) {
      EXPECT_NEAR(score(position), here, 1e-6 * magnitude) << position;
    }
  }
}

TEST_P(RotaryEmbeddingTest, attention_is_unchanged_when_all_positions_shift) {
  Random random;
  const Shape shape{2, 2, 30, 16};
  const std::vector<float> q = random.normals(count_of(shape));
  const std::vector<float> k = random.normals(count_of(shape));
  const std::vector<float> v = random.normals(count_of(shape));
  const RotaryEmbedding rotary({.rotary_dim = 16});
  const auto attend = [&](double start) {
    const std::vector<float> a = rotate(rotary, q, shape, {.start = start});
    const std::vector<float> b = rotate(rotary, k, shape, {.start = start});
    std::vector<float> output(q.size());
    const std::span<const std::int64_t> sizes(shape);
    attn::scaled_dot_product_attention({a.data(), sizes}, {b.data(), sizes}, {v.data(), sizes},
                                       {output.data(), sizes}, {.causal = true}, context());
    return output;
  };
  const std::vector<float> here = attend(0);
  const std::vector<float> there = attend(123456);
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i], there[i], 2e-5);
}

TEST_P(RotaryEmbeddingTest, linear_scaling_is_division_of_positions) {
  Random random;
  const RotaryEmbedding scaled(
      {.rotary_dim = 32, .scaling = attn::LinearRotaryScaling{.factor = 4}});
  const RotaryEmbedding plain({.rotary_dim = 32});
  const std::vector<float> x = random.normals(100 * 32);
  std::vector<double> quarters(100);
  for (std::size_t i = 0; i < 100; ++i) quarters[i] = static_cast<double>(i) / 4;
  // Dividing frequencies or positions by a power of two causes no rounding.
  EXPECT_TRUE(same_bits(rotate(scaled, x, {100, 32}),
                        rotate(plain, x, {100, 32}, {.positions = {quarters.data(), {100}}})));
}

TEST_P(RotaryEmbeddingTest, the_inverse_rotates_back) {
  Random random;
  const RotaryEmbedding rotary({.rotary_dim = 30, .pairing = RotaryPairing::kInterleaved});
  const std::vector<float> x = random.normals(50 * 32);
  const std::vector<float> there = rotate(rotary, x, {50, 32}, {.start = 1000});
  const std::vector<float> back = rotate(rotary, there, {50, 32}, {.start = 1000, .inverse = true});
  const std::vector<float> negative = rotate(rotary, x, {1, 50 * 32}, {.start = -8});
  EXPECT_TRUE(same_bits(negative, rotate(rotary, x, {1, 50 * 32}, {.start = 8, .inverse = true})));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 2e-6);
}

TEST_P(RotaryEmbeddingTest, both_pairings_are_one_rotation_of_columns_in_another_order) {
  Random random;
  const std::vector<float> x = random.normals(20 * 18);
  std::vector<float> reordered(x.size());
  const auto halves = [](std::size_t c) { return c % 2 * 9 + c / 2; };
  for (std::size_t i = 0; i < x.size(); ++i) reordered[i / 18 * 18 + halves(i % 18)] = x[i];
  const std::vector<float> a = rotate(
      RotaryEmbedding({.rotary_dim = 18, .pairing = RotaryPairing::kInterleaved}), x, {20, 18});
  const std::vector<float> b = rotate(RotaryEmbedding({.rotary_dim = 18}), reordered, {20, 18});
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(a[i], b[i / 18 * 18 + halves(i % 18)]);
}

}  // namespace
