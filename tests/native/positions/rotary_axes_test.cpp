// Tests rotary embedding along several axes, and rotary embedding that rotates only some of the
// pairs. Each pair is rotated as in a plain rotary embedding, at the position along the pair's
// axis.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/rotary_embedding.hpp"
#include "training/gradients.hpp"

namespace {

using attn::RotaryAxes;
using attn::RotaryEmbedding;
using attn::RotaryEmbeddingOptions;
using attn::RotaryPairing;
using attn::RotaryPositions;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

constexpr std::int64_t kBatch = 2, kHeads = 3, kRows = 21;
const std::vector<std::int64_t> kSections{6, 5, 5};  // pairs
constexpr std::int64_t kDim = 32;

/// The axis and frequency of a pair.
struct Pair {
  std::size_t axis;
  long double frequency;
};

/// Follows the definitions of Qwen2-VL, Qwen3-VL and vision transformers.
std::vector<Pair> pairs_of(RotaryAxes axes) {
  std::vector<Pair> pairs;
  for (std::int64_t j = 0; j < kDim / 2; ++j) {
    pairs.push_back({0, std::pow(10000.0L, -2.0L * j / kDim)});
  }
  if (axes == RotaryAxes::kInterleaved) {
    for (std::size_t axis = 1; axis < 3; ++axis) {
      for (std::size_t j = axis; j < 3 * static_cast<std::size_t>(kSections[axis]); j += 3) {
        pairs[j].axis = axis;
      }
    }
    return pairs;
  }
  std::size_t j = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t i = 0; i < kSections[axis]; ++i, ++j) {
      pairs[j].axis = axis;
      if (axes == RotaryAxes::kAxial) {
        pairs[j].frequency = std::pow(10000.0L, -static_cast<long double>(i) / kSections[axis]);
      }
    }
  }
  return pairs;
}

/// x with each pair rotated separately; `positions` is (3, B, N).
reference::Bounded rotated(const std::vector<Pair>& pairs, const Array& x,
                           const std::vector<double>& positions, bool interleaved, bool inverse) {
  reference::Bounded result{Array(x.shape), Array(x.shape)};
  std::vector<long double> frequencies;
  for (const Pair& pair : pairs) frequencies.push_back(pair.frequency);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto first = positions.begin() + static_cast<std::ptrdiff_t>(axis) * kBatch * kRows;
    const auto [exact, error] = reference::rotary_embedding(reference::RotaryEmbedding{
        x, {first, first + kBatch * kRows}, frequencies, interleaved, 1, inverse});
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const std::size_t column = i % kDim;
      if (pairs[interleaved ? column / 2 : column % (kDim / 2)].axis != axis) continue;
      result.exact.values[i] = exact.values[i];
      result.error.values[i] = 1.7e-7 * error.values[i];
    }
  }
  return result;
}

using RotaryAxesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(RotaryAxesTest);

TEST_P(RotaryAxesTest, each_pair_and_its_gradient_rotate_with_their_axis) {
  Random random;
  const std::vector<std::int64_t> shape{kBatch, kHeads, kRows, kDim};
  const Array x(shape, random.normals(kBatch * kHeads * kRows * kDim));
  const Array dy(shape, random.normals(kBatch * kHeads * kRows * kDim));
  const std::vector<float> values(x.values.begin(), x.values.end());
  const std::vector<float> gradient(dy.values.begin(), dy.values.end());
  std::vector<double> positions(3 * kBatch * kRows);
  for (double& p : positions) p = std::floor(random.unit() * 5000) - 1000;
  for (const RotaryAxes axes :
       {RotaryAxes::kSections, RotaryAxes::kInterleaved, RotaryAxes::kAxial}) {
    for (const RotaryPairing pairing : {RotaryPairing::kHalfSplit, RotaryPairing::kInterleaved}) {
      const RotaryEmbedding rotary(
          {.rotary_dim = kDim, .pairing = pairing, .sections = kSections, .axes = axes});
      const std::vector<Pair> pairs = pairs_of(axes);
      const std::vector<double> frequencies = rotary.frequencies();
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        EXPECT_NEAR(frequencies[j], static_cast<double>(pairs[j].frequency), 1e-15);
      }
      const bool interleaved = pairing == RotaryPairing::kInterleaved;
      const RotaryPositions where{.positions = {positions.data(), {3, kBatch, kRows}}};
      attn::Tape tape(context());
      const attn::Variable in = tape.variable({values.data(), shape});
      const attn::Variable out = rotary.forward(in, where);
      std::vector<float> y(values.size());
      rotary.forward(in.value(), {y.data(), shape}, where, context(1));
      EXPECT_TRUE(same_bits(attn_test::values(out.value()), y));
      const reference::Bounded want = rotated(pairs, x, positions, interleaved, false);
      EXPECT_TRUE(is_within(y, want.exact, want.error));
      tape.backward(out, {gradient.data(), shape});
      const reference::Bounded back = rotated(pairs, dy, positions, interleaved, true);
      EXPECT_TRUE(is_within(attn_test::values(in.gradient()), back.exact, back.error));
    }
  }
}

TEST_P(RotaryAxesTest, equal_positions_along_all_axes_match_text) {
  Random random;
  const std::vector<float> x = random.normals(kBatch * kRows * kDim);
  const std::vector<std::int64_t> shape{kBatch, kRows, kDim};
  const RotaryEmbedding plain({.rotary_dim = kDim});
  std::vector<double> ids(kRows), each(3 * kRows);
  std::iota(ids.begin(), ids.end(), 7);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = ids[i % ids.size()];
  std::vector<float> want(x.size()), got(x.size());
  plain.forward({x.data(), shape}, {want.data(), shape}, {.start = 7}, context());
  for (const RotaryAxes axes : {RotaryAxes::kSections, RotaryAxes::kInterleaved}) {
    const RotaryEmbedding rotary({.rotary_dim = kDim, .sections = kSections, .axes = axes});
    for (const RotaryPositions& positions :
         {RotaryPositions{.start = 7}, RotaryPositions{.positions = {ids.data(), {kRows}}},
          RotaryPositions{.positions = {each.data(), {3, 1, kRows}}}}) {
      rotary.forward({x.data(), shape}, {got.data(), shape}, positions, context());
      EXPECT_TRUE(same_bits(got, want));
    }
    std::vector<float> cos(kRows * kDim / 2), sin(cos.size()), same_cos(cos), same_sin(cos);
    const std::vector<std::int64_t> half{kRows, kDim / 2};
    plain.tables({cos.data(), half}, {sin.data(), half}, {.start = 7}, context());
    rotary.tables({same_cos.data(), half}, {same_sin.data(), half},
                  {.positions = {each.data(), {3, 1, kRows}}}, context());
    EXPECT_TRUE(same_bits(same_cos, cos));
    EXPECT_TRUE(same_bits(same_sin, sin));
  }
}

// An image of 2 × 3 patches, rotated as in the vision model of Qwen2-VL. The row rotates the first
// half of the pairs, and the column rotates the second half. Both halves have the
// frequencies of an embedding with half as many columns.
TEST_P(RotaryAxesTest, axial_turns_rows_and_columns_with_the_same_frequencies) {
  const RotaryEmbedding rotary({.rotary_dim = 8, .sections = {2, 2}, .axes = RotaryAxes::kAxial});
  EXPECT_THAT(rotary.frequencies(), ::testing::ElementsAre(1, 0.01, 1, 0.01));
  const std::vector<double> positions{0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2};
  std::vector<float> cos(24), sin(24);
  rotary.tables({cos.data(), {6, 4}}, {sin.data(), {6, 4}},
                {.positions = {positions.data(), {2, 1, 6}}}, context());
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double angle = positions[j / 2 * 6 + i] * (j % 2 == 0 ? 1 : 0.01);
      EXPECT_NEAR(cos[i * 4 + j], std::cos(angle), 4e-8);
      EXPECT_NEAR(sin[i * 4 + j], std::sin(angle), 4e-8);
    }
  }
}

TEST_P(RotaryAxesTest, rules_of_scaling_act_on_every_axis) {
  const RotaryEmbedding rotary(
      {.rotary_dim = 8,
       .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 10},
       .sections = {2, 1, 1},
       .axes = RotaryAxes::kInterleaved});
  const RotaryEmbedding plain(
      {.rotary_dim = 8,
       .scaling = attn::DynamicNtkRotaryScaling{.factor = 2, .max_position_embeddings = 10}});
  EXPECT_EQ(rotary.frequencies(300), plain.frequencies(300));
  // The largest position along any axis determines the sequence length of a call.
  const std::vector<double> positions{0, 3, 5, 3, 299, 3};
  std::vector<float> cos(8), sin(8), wanted_cos(8), wanted_sin(8);
  rotary.tables({cos.data(), {2, 4}}, {sin.data(), {2, 4}},
                {.positions = {positions.data(), {3, 1, 2}}}, context());
  plain.tables({wanted_cos.data(), {2, 4}}, {wanted_sin.data(), {2, 4}},
               {.start = 2, .sequence_length = 300}, context());
  EXPECT_TRUE(same_bits({cos.begin() + 4, cos.end()}, {wanted_cos.begin() + 4, wanted_cos.end()}));
  EXPECT_TRUE(same_bits({sin.begin() + 4, sin.end()}, {wanted_sin.begin() + 4, wanted_sin.end()}));
}

TEST_P(RotaryAxesTest, proportional_turns_the_fast_pairs_of_the_whole_head) {
  Random random;
  // As in the global layers of Gemma 4, a quarter of the head rotates, with base 10^6.
  const RotaryEmbedding rotary(
      {.rotary_dim = 64,
       .base = 1e6,
       .scaling = attn::ProportionalRotaryScaling{.partial_rotary_factor = 0.25}});
  const RotaryEmbedding whole({.rotary_dim = 64, .base = 1e6});
  const std::vector<double> frequencies = rotary.frequencies();
  for (std::size_t j = 0; j < 32; ++j) {
    EXPECT_EQ(frequencies[j], j < 8 ? whole.frequencies()[j] : 0) << j;
  }
  const std::vector<float> x = random.normals(5 * 64);
  std::vector<float> y(x.size()), all(x.size());
  rotary.forward({x.data(), {5, 64}}, {y.data(), {5, 64}}, {.start = 1e6}, context());
  whole.forward({x.data(), {5, 64}}, {all.data(), {5, 64}}, {.start = 1e6}, context());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], i % 32 < 8 ? all[i] : x[i]) << i;
  }
  const auto turning = [](double share, double factor) {
    return RotaryEmbedding(
               {.rotary_dim = 8,
                .base = 16,
                .scaling = attn::ProportionalRotaryScaling{.partial_rotary_factor = share,
                                                           .factor = factor}})
        .frequencies();
  };
  EXPECT_THAT(turning(1, 2), ::testing::ElementsAre(0.5, 0.25, 0.125, 0.0625));
  EXPECT_THAT(turning(0.7, 1), ::testing::ElementsAre(1, 0.5, 0, 0));
  EXPECT_THAT(turning(0, 1), ::testing::ElementsAre(0, 0, 0, 0));
}

TEST(RotaryAxesErrorTest, sections_positions_and_shares) {
  const auto make = [](std::vector<std::int64_t> sections, RotaryAxes axes) {
    return error_of([&] {
      RotaryEmbedding rotary({.rotary_dim = 8, .sections = std::move(sections), .axes = axes});
    });
  };
  EXPECT_EQ(make({2, 1}, RotaryAxes::kSections),
            "shape_mismatch: sections: got 3 pairs, needs 4 in total");
  EXPECT_EQ(make({2, 3}, RotaryAxes::kAxial),
            "shape_mismatch: sections: got more than 4 pairs, needs 4 in total");
  EXPECT_EQ(make({5, -1}, RotaryAxes::kSections),
            "shape_mismatch: sections: got more than 4 pairs, needs 4 in total");
  EXPECT_EQ(make({4, -1}, RotaryAxes::kSections),
            "invalid_argument: sections: got -1, needs 0 or more");
  EXPECT_EQ(make({1, 3}, RotaryAxes::kInterleaved),
            "invalid_argument: sections: got 3, needs at most 2, the number of pairs that axis 1 "
            "gets if the axes take turns");
  EXPECT_EQ(make({2, 2}, RotaryAxes::kInterleaved), "nothing");
  EXPECT_EQ(make({0, 4}, RotaryAxes::kSections), "nothing");
  const auto share = [](double partial_rotary_factor) {
    return error_of([&] {
      RotaryEmbedding rotary({.rotary_dim = 8,
                              .scaling = attn::ProportionalRotaryScaling{
                                  .partial_rotary_factor = partial_rotary_factor}});
    });
  };
  EXPECT_THAT(share(1.5),
              ::testing::StartsWith("invalid_argument: scaling.partial_rotary_factor: got 1.5"));
  EXPECT_THAT(share(std::numeric_limits<double>::quiet_NaN()),
              ::testing::StartsWith("invalid_argument: scaling.partial_rotary_factor: got nan"));

  const RotaryEmbedding rotary({.rotary_dim = 8, .sections = {2, 2}});
  std::vector<float> x(6 * 8), y(6 * 8, 5.0F);
  std::vector<double> positions(24);
  const auto rotate = [&](std::initializer_list<std::int64_t> shape) {
    return error_of([&] {
      rotary.forward({x.data(), {2, 3, 8}}, {y.data(), {2, 3, 8}},
                     {.positions = {positions.data(), shape}});
    });
  };
  EXPECT_EQ(rotate({3, 2, 3}),
            "shape_mismatch: positions: got shape (3, 2, 3), needs shape (2, 2, 3)");
  EXPECT_EQ(rotate({2, 1, 4}),
            "shape_mismatch: positions: got shape (2, 1, 4), needs shape (2, 1, 3)");
  EXPECT_EQ(rotate({2, 4}), "shape_mismatch: positions: got shape (2, 4), needs shape (2, 3)");
  positions[7] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(rotate({2, 2, 3}), ::testing::StartsWith("invalid_argument: positions: got inf"));
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_EQ(rotate({2, 1, 3}), "nothing");
  const RotaryEmbedding plain({.rotary_dim = 8});
  EXPECT_EQ(error_of([&] {
              plain.forward({x.data(), {2, 3, 8}}, {y.data(), {2, 3, 8}},
                            {.positions = {positions.data(), {1, 2, 3}}});
            }),
            "shape_mismatch: positions: got shape (1, 2, 3), needs shape (3)");
}

}  // namespace
