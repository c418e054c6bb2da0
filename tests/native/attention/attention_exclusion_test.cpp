// Tests key exclusion in scaled_dot_product_attention: causal order, windows, lengths and masks.
// NaN and infinity in excluded keys and values must not reach a result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::Diagonal;
using attn::Window;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::expect_matches_reference;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::random_diagonal;
using attn_test::random_lengths;
using attn_test::random_window;
using attn_test::same_bits;

using AttentionExclusionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionExclusionTest);

TEST(DiagonalTest, offsets_stay_within_64_bits) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto shifted = [](std::int64_t offset, std::int64_t by) {
    return Diagonal::offset(offset).shifted(by).resolve(1, 1);
  };
  EXPECT_EQ(shifted(Limits::max() - 1, 1), Limits::max());
  EXPECT_EQ(shifted(Limits::max(), 1), Limits::max());
  EXPECT_EQ(shifted(Limits::min(), -1), Limits::min());
  EXPECT_EQ(shifted(-3, 5), 2);
  EXPECT_EQ(Diagonal::bottom_right().shifted(5).resolve(3, 7), 4);
}

// ---- Causal order, windows, lengths and masks

TEST_P(AttentionExclusionTest, causal_order_follows_every_diagonal) {
  Random random;
  for (const auto& [num_queries, num_keys] :
       {std::pair{60, 60}, std::pair{60, 300}, std::pair{300, 60}, std::pair{1, 270}}) {
    for (const Diagonal diagonal :
         {Diagonal::top_left(), Diagonal::bottom_right(), Diagonal::offset(5), Diagonal::offset(-5),
          Diagonal::offset(1000), Diagonal::offset(-1000), Diagonal::offset(256),
          Diagonal::offset(255)}) {
      AttentionProblem p(
          {.num_queries = num_queries, .num_keys = num_keys, .head_dim = 4, .value_dim = 3},
          random);
      p.causal = true;
      p.diagonal = diagonal;
      SCOPED_TRACE(std::to_string(num_queries) + " × " + std::to_string(num_keys) + ", offset " +
                   std::to_string(diagonal.resolve(num_queries, num_keys)));
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionExclusionTest, huge_offsets_and_windows_do_not_overflow) {
  Random random;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  AttentionProblem p({.num_queries = 9, .num_keys = 12, .head_dim = 4, .value_dim = 3}, random);
  const AttentionOutputs everything = attend(p, context());
  p.causal = true;
  p.diagonal = Diagonal::offset(kMax);
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.diagonal = Diagonal::offset(kMin);
  EXPECT_THAT(attend(p, context()).output, ::testing::Each(0.0F));
  p.causal = false;
  p.diagonal = Diagonal::offset(3);
  p.window = Window{kMax, kMax};
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.diagonal = Diagonal::offset(kMin);
  p.window = Window{0, kMax};
  EXPECT_TRUE(same_bits(attend(p, context()).output, everything.output));
  p.diagonal = Diagonal::offset(kMax);
  p.window = Window{5, 5};
  EXPECT_THAT(attend(p, context()).output, ::testing::Each(0.0F));
}

TEST_P(AttentionExclusionTest, window_limits_both_sides) {
  Random random;
  using Side = std::optional<std::int64_t>;
  for (const Side left : {Side{}, Side{0}, Side{3}, Side{260}}) {
    for (const Side right : {Side{}, Side{0}, Side{2}, Side{260}}) {
      for (const Diagonal diagonal :
           {Diagonal::top_left(), Diagonal::bottom_right(), Diagonal::offset(-70)}) {
        AttentionProblem p({.num_queries = 130, .num_keys = 530, .head_dim = 3, .value_dim = 2},
                           random);
        p.diagonal = diagonal;
        p.window = Window{left, right};
        SCOPED_TRACE("left " + std::to_string(left.value_or(-1)) + ", right " +
                     std::to_string(right.value_or(-1)) + ", offset " +
                     std::to_string(diagonal.resolve(130, 530)));
        expect_matches_reference(p, context());
      }
    }
  }
}

TEST_P(AttentionExclusionTest, valid_lengths_per_batch_entry) {
  Random random;
  AttentionProblem p({.batch = 6,
                      .query_heads = 2,
                      .key_heads = 1,
                      .num_queries = 7,
                      .num_keys = 270,
                      .head_dim = 4,
                      .value_dim = 5},
                     random);
  p.valid_lens = {0, 1, 255, 256, 257, 270};
  expect_matches_reference(p, context());
}

TEST_P(AttentionExclusionTest, valid_lengths_per_query) {
  Random random;
  AttentionProblem p({.batch = 3,
                      .query_heads = 2,
                      .key_heads = 2,
                      .num_queries = 60,
                      .num_keys = 270,
                      .head_dim = 4,
                      .value_dim = 5},
                     random);
  for (int i = 0; i < 180; ++i) {
    p.valid_lens.push_back(
        static_cast<std::int32_t>(random.chance(0.2) ? 0 : random.integer(0, 270)));
  }
  expect_matches_reference(p, context());
}

TEST_P(AttentionExclusionTest, fully_masked_row_is_zero) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.mask_shape = {60, 1};
  for (int i = 0; i < 60; ++i) p.mask.push_back(i % 3 != 0);
  const AttentionOutputs got = attend(p, context());
  for (std::int64_t row = 0; row < 2 * 4 * 60; ++row) {
    if (row % 60 % 3 != 0) continue;
    const auto r = static_cast<std::size_t>(row);
    EXPECT_EQ(got.log_sum_exp[r], -kInfinity);
    for (std::size_t c = 0; c < 12; ++c) ASSERT_EQ(got.output[r * 12 + c], 0.0F);
    for (std::size_t j = 0; j < 300; ++j) ASSERT_EQ(got.weights[r * 300 + j], 0.0F);
  }
  expect_matches_reference(p, context());
}

TEST_P(AttentionExclusionTest, all_options_together) {
  Random random;
  // Random combinations of options, with sizes around the tile sizes of every instruction set.
  const std::vector<std::int64_t> queries{1, 2, 5, 13, 47, 48, 49, 57, 100};
  const std::vector<std::int64_t> keys{1, 3, 16, 31, 100, 255, 256, 257, 300, 520};
  const std::vector<std::int64_t> dims{1, 2, 3, 7, 16, 17, 20, 33, 64};
  for (int round = 0; round < 60; ++round) {
    const std::int64_t key_heads = random.integer(1, 3);
    const AttentionSizes sizes{.batch = random.integer(1, 3),
                               .query_heads = key_heads * random.integer(1, 3),
                               .key_heads = key_heads,
                               .num_queries = random.pick(queries),
                               .num_keys = random.pick(keys),
                               .head_dim = random.pick(dims),
                               .value_dim = random.pick(dims)};
    AttentionProblem p(sizes, random);
    std::string trace = "round " + std::to_string(round) + ": shape of scores " +
                        ::testing::PrintToString(p.score_shape()) + ", dims " +
                        std::to_string(sizes.head_dim) + " and " + std::to_string(sizes.value_dim);
    const auto random_shape = [&] {
      std::vector<std::int64_t> shape = p.score_shape();
      for (std::int64_t& size : shape) {
        if (random.chance(0.4)) size = 1;
      }
      shape.erase(shape.begin(), shape.begin() + random.integer(0, 3));
      return shape;
    };
    if (random.chance(0.5)) p.scale = random.uniform(-1, 1);
    if (random.chance(0.4)) p.softcap = random.uniform(0.5, 5);
    if (random.chance(0.5)) {
      p.bias_shape = random_shape();
      p.bias = random.normals(AttentionProblem::count(p.bias_shape), 3);
      for (float& b : p.bias) {
        if (random.chance(0.05)) b = -kInfinity;
      }
      trace += ", bias " + ::testing::PrintToString(p.bias_shape);
    }
    if (random.chance(0.5)) {
      p.mask_shape = random_shape();
      for (std::int64_t i = 0; i < AttentionProblem::count(p.mask_shape); ++i) {
        p.mask.push_back(random.chance(0.8));
      }
      trace += ", mask " + ::testing::PrintToString(p.mask_shape);
    }
    p.diagonal = random_diagonal(sizes, random);
    p.causal = random.chance(0.4);
    if (random.chance(0.4)) p.window = random_window(sizes, random);
    if (random.chance(0.5)) {
      const std::int64_t count = sizes.batch * (random.chance(0.5) ? 1 : sizes.num_queries);
      p.valid_lens = random_lengths(count, sizes.num_keys, random);
      trace += ", " + std::to_string(count) + " valid lengths";
    }
    p.layout = static_cast<Layout>(random.integer(0, 4));
    trace += ", layout " + std::to_string(static_cast<int>(p.layout));
    SCOPED_TRACE(trace);
    expect_matches_reference(p, context());
    if (HasFailure()) break;
  }
}

// ---- Masks that exclude whole tiles

/// Masks for (queries × keys) with tiles of every kind: without an attended key, without an
/// excluded key, and mixed.
std::vector<std::pair<std::string, std::vector<std::uint8_t>>> tile_masks(std::int64_t queries,
                                                                          std::int64_t keys,
                                                                          Random& random) {
  const auto size = static_cast<std::size_t>(queries * keys);
  const auto make = [&](auto&& attends) {
    std::vector<std::uint8_t> mask;
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) mask.push_back(attends(i, j) ? 1 : 0);
    }
    return mask;
  };
  std::vector<std::uint8_t> documents = attn_test::document_mask(queries, keys);
  std::vector<std::uint8_t> empty_rows = documents;
  for (std::int64_t i = 0; i < queries; i += 3) {
    std::fill_n(empty_rows.begin() + i * keys, keys, std::uint8_t{0});
  }
  return {{"documents", std::move(documents)},
          {"documents with empty rows", std::move(empty_rows)},
          {"chessboard", make([](auto i, auto j) { return (i / 48 + j / 64) % 2 == 0; })},
          {"bands", make([](auto, auto j) { return j / 100 % 2 == 1; })},
          {"one key", make([](auto, auto j) { return j == 0; })},
          {"last key", make([&](auto, auto j) { return j == keys - 1; })},
          {"random", make([&](auto, auto) { return random.chance(0.5); })},
          {"any number but 0 is true", std::vector<std::uint8_t>(size, 128)},
          {"nothing", std::vector<std::uint8_t>(size, 0)}};
}

TEST_P(AttentionExclusionTest, masks_of_whole_tiles) {
  Random random;
  for (const auto& [queries, keys] : {std::pair{1, 700}, std::pair{17, 130}, std::pair{129, 257},
                                      std::pair{200, 64}, std::pair{50, 15}}) {
    for (const auto& [name, mask] : tile_masks(queries, keys, random)) {
      SCOPED_TRACE(name + ", " + std::to_string(queries) + " × " + std::to_string(keys));
      AttentionProblem p({.query_heads = 2,
                          .key_heads = 1,
                          .num_queries = queries,
                          .num_keys = keys,
                          .head_dim = 5,
                          .value_dim = 9},
                         random);
      p.mask = mask;
      p.mask_shape = {queries, keys};
      expect_matches_reference(p, context());
      p.layout = Layout::kReversed;
      p.causal = true;
      p.diagonal = Diagonal::bottom_right();
      p.sinks = random.normals(2);
      expect_matches_reference(p, context());
      p.softcap = 3;
      p.bias_shape = {queries, keys};
      for (const std::uint8_t attends : mask) {
        p.bias.push_back(attends ? random.normal() : -kInfinity);
      }
      expect_matches_reference(p, context());
      p.mask.clear();
      expect_matches_reference(p, context());
    }
  }
}

TEST_P(AttentionExclusionTest, masks_of_whole_tiles_differ_between_heads_and_entries) {
  Random random;
  constexpr std::int64_t kQueries = 70, kKeys = 200;
  for (const bool by_entry : {false, true}) {
    for (const bool by_head : {false, true}) {
      AttentionProblem p({.batch = 2,
                          .query_heads = 4,
                          .key_heads = 2,
                          .num_queries = kQueries,
                          .num_keys = kKeys,
                          .head_dim = 4,
                          .value_dim = 4},
                         random);
      p.mask_shape = {by_entry ? 2 : 1, by_head ? 4 : 1, kQueries, kKeys};
      for (const auto& [name, mask] : tile_masks(kQueries, kKeys, random)) {
        if (std::ssize(p.mask) == AttentionProblem::count(p.mask_shape)) break;
        p.mask.insert(p.mask.end(), mask.begin(), mask.end());
      }
      p.bias_shape = {by_head ? 1 : 2, by_head ? 4 : 1, 1, kKeys};
      p.bias = random.normals(AttentionProblem::count(p.bias_shape));
      std::fill_n(p.bias.begin() + 128, 72, -kInfinity);
      expect_matches_reference(p, context());
    }
  }
}

// The result of a query depends only on its own row of the mask. If some rows attend to all keys,
// no tile can be skipped.
TEST_P(AttentionExclusionTest, skipping_tiles_changes_no_bit) {
  Random random;
  for (const bool with_terms : {false, true}) {
    for (const auto& [queries, keys] : {std::pair{150, 300}, std::pair{49, 700}}) {
      for (const auto& [name, mask] : tile_masks(queries, keys, random)) {
        SCOPED_TRACE(name + ", " + std::to_string(queries) + " × " + std::to_string(keys));
        AttentionProblem p(
            {.num_queries = queries, .num_keys = keys, .head_dim = 20, .value_dim = 17}, random);
        p.mask = mask;
        p.mask_shape = {queries, keys};
        if (with_terms) {
          p.softcap = 3;
          p.window = Window{.left = 200, .right = 40};
          p.diagonal = Diagonal::bottom_right();
          p.max_distance = 3;
          p.relative_keys = random.normals(7 * 20);
          p.relative_values = random.normals(7 * 17);
          p.dropout = 0.25F;
        }
        const AttentionOutputs skipped = attend(p, context());
        std::vector<std::int64_t> changed =
            attn_test::let_some_rows_attend_to_all(p.mask, queries, keys);
        const AttentionOutputs whole = attend(p, context());
        for (std::int64_t i = 0; i < queries; ++i) {
          if (std::ranges::count(changed, i) != 0) continue;
          const auto row = [&](const std::vector<float>& x, std::int64_t cols) {
            return std::vector<float>(x.begin() + i * cols, x.begin() + (i + 1) * cols);
          };
          ASSERT_TRUE(same_bits(row(skipped.output, 17), row(whole.output, 17))) << i;
          ASSERT_TRUE(same_bits(row(skipped.weights, keys), row(whole.weights, keys))) << i;
          ASSERT_TRUE(same_bits(row(skipped.biased_scores, keys), row(whole.biased_scores, keys)))
              << i;
          ASSERT_EQ(skipped.log_sum_exp[static_cast<std::size_t>(i)],
                    whole.log_sum_exp[static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

TEST_P(AttentionExclusionTest, a_mask_of_causal_order_gives_the_bits_of_causal_order) {
  Random random;
  for (const auto& [queries, keys] : {std::pair{150, 300}, std::pair{1, 700}}) {
    AttentionProblem p({.num_queries = queries, .num_keys = keys, .head_dim = 20, .value_dim = 17},
                       random);
    p.causal = true;
    const AttentionOutputs causal = attend(p, context());
    p.causal = false;
    p.mask_shape = {queries, keys};
    for (int i = 0; i < queries; ++i) {
      for (int j = 0; j < keys; ++j) p.mask.push_back(j <= i);
    }
    const AttentionOutputs masked = attend(p, context());
    EXPECT_TRUE(same_bits(masked.output, causal.output));
    EXPECT_TRUE(same_bits(masked.weights, causal.weights));
    EXPECT_TRUE(same_bits(masked.log_sum_exp, causal.log_sum_exp));
  }
}

// ---- NaN and infinity

/// Fills excluded keys and values with NaN and infinities, which must not affect a result.
class Poison {
 public:
  static constexpr float kPoisons[] = {kNaN, kInfinity, -kInfinity};

  /// Fills key and value rows [from, to) of every batch entry and head with `what`.
  static void spill(AttentionProblem& p, std::int64_t from, std::int64_t to, float what) {
    const AttentionSizes& s = p.sizes;
    for (std::int64_t head = 0; head < s.batch * s.key_heads; ++head) {
      for (std::int64_t j = from; j < to; ++j) {
        const std::int64_t row = head * s.num_keys + j;
        std::fill_n(p.key.begin() + row * s.head_dim, s.head_dim, what);
        std::fill_n(p.value.begin() + row * s.value_dim, s.value_dim, what);
      }
    }
  }

  /// Fills the key and value rows [first, second) of each pair in `spans` with NaN and infinities,
  /// and expects that no bit of the results changes.
  static void expect_no_leak(const AttentionProblem& p,
                             const std::vector<std::pair<int, int>>& spans,
                             attn::Context& context) {
    const AttentionOutputs clean = attend(p, context);
    for (const float poison : kPoisons) {
      AttentionProblem poisoned = p;
      for (const auto& [from, to] : spans) spill(poisoned, from, to, poison);
      const AttentionOutputs got =
          attend(poisoned, context, {.weights = true, .log_sum_exp = true});
      EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
      EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
      EXPECT_TRUE(same_bits(got.log_sum_exp, clean.log_sum_exp)) << poison;
    }
  }
};

TEST_P(AttentionExclusionTest, nothing_leaks_from_beyond_the_valid_length) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.valid_lens = {251, 40};
  Poison::expect_no_leak(p, {{251, 300}}, context());
}

TEST_P(AttentionExclusionTest, nothing_leaks_from_masked_keys) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.mask_shape = {300};
  for (int j = 0; j < 300; ++j) p.mask.push_back(j % 7 != 3 && j < 290);
  std::vector<std::pair<int, int>> masked{{290, 300}};
  for (int j = 3; j < 300; j += 7) masked.emplace_back(j, j + 1);
  Poison::expect_no_leak(p, masked, context());
}

TEST_P(AttentionExclusionTest, nothing_leaks_from_tiles_without_an_attended_key) {
  Random random;
  for (const std::int64_t queries : {1, 60}) {
    AttentionProblem p({.num_queries = queries, .num_keys = 900, .head_dim = 8, .value_dim = 9},
                       random);
    p.mask_shape = {1, 900};
    for (int j = 0; j < 900; ++j) p.mask.push_back(j < 70 || (j >= 600 && j < 650));
    Poison::expect_no_leak(p, {{70, 600}, {650, 900}}, context());
    p.bias_shape = {1, 900};
    for (const std::uint8_t attends : p.mask) p.bias.push_back(attends ? 0.5F : -kInfinity);
    p.mask.clear();
    Poison::expect_no_leak(p, {{70, 600}, {650, 900}}, context());
  }
}

TEST_P(AttentionExclusionTest, nothing_leaks_from_keys_with_a_bias_of_minus_infinity) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.softcap = 3.0F;
  p.bias_shape = {300};
  for (int j = 0; j < 300; ++j) p.bias.push_back(j % 5 == 2 ? -kInfinity : random.normal());
  std::vector<std::pair<int, int>> excluded;
  for (int j = 2; j < 300; j += 5) excluded.emplace_back(j, j + 1);
  Poison::expect_no_leak(p, excluded, context());
}

TEST_P(AttentionExclusionTest, nothing_leaks_from_the_future) {
  Random random;
  AttentionProblem p({.query_heads = 2,
                      .key_heads = 2,
                      .num_queries = 300,
                      .num_keys = 300,
                      .head_dim = 8,
                      .value_dim = 9},
                     random);
  p.causal = true;
  const AttentionOutputs clean = attend(p, context());
  for (const std::int64_t from : {1, 49, 255, 256, 280}) {
    for (const float poison : Poison::kPoisons) {
      AttentionProblem poisoned = p;
      Poison::spill(poisoned, from, 300, poison);
      const AttentionOutputs got =
          attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 300; ++i) {
          for (std::int64_t c = 0; c < 9; ++c) {
            const auto at = static_cast<std::size_t>((h * 300 + i) * 9 + c);
            if (i < from) {
              ASSERT_EQ(got.output[at], clean.output[at])
                  << poison << " from " << from << " at " << i;
            } else {
              ASSERT_FALSE(std::isfinite(got.output[at]))
                  << poison << " from " << from << " at " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(AttentionExclusionTest, nothing_leaks_from_outside_the_window) {
  Random random;
  AttentionProblem p({.num_queries = 40, .num_keys = 600, .head_dim = 8, .value_dim = 4}, random);
  p.diagonal = Diagonal::offset(270);
  p.window = Window{10, 5};
  const AttentionOutputs clean = attend(p, context());
  for (const float poison : Poison::kPoisons) {
    AttentionProblem poisoned = p;
    Poison::spill(poisoned, 0, 260, poison);
    Poison::spill(poisoned, 270 + 39 + 5 + 1, 600, poison);
    const AttentionOutputs got =
        attend(poisoned, context(), {.weights = true, .log_sum_exp = true});
    EXPECT_TRUE(same_bits(got.output, clean.output)) << poison;
    EXPECT_TRUE(same_bits(got.weights, clean.weights)) << poison;
  }
}

TEST_P(AttentionExclusionTest, a_fully_masked_row_of_poison_is_zero) {
  for (const float poison : Poison::kPoisons) {
    const std::vector<float> query{poison, 1}, key{poison, poison, 1, poison}, value{poison, 2};
    const std::vector<std::int32_t> valid_lens{0};
    std::vector<float> output{9}, weights{9, 9};
    float log_sum_exp = 9;
    attn::AttentionOptions options;
    options.valid_lens = {valid_lens.data(), {1}};
    options.weights = {weights.data(), {1, 1, 1, 2}};
    options.log_sum_exp = {&log_sum_exp, {1, 1, 1}};
    attn::scaled_dot_product_attention({query.data(), {1, 2}}, {key.data(), {2, 2}},
                                       {value.data(), {2, 1}}, {output.data(), {1, 1}}, options,
                                       context());
    EXPECT_EQ(output[0], 0.0F);
    EXPECT_THAT(weights, ::testing::Each(0.0F));
    EXPECT_EQ(log_sum_exp, -kInfinity);
  }
}

TEST_P(AttentionExclusionTest, nan_in_an_attended_key_or_value_reaches_the_output) {
  Random random;
  const AttentionSizes sizes{.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5};
  for (const std::int64_t at : {0, 1, 17, 255, 256, 299}) {
    SCOPED_TRACE(at);
    AttentionProblem p(sizes, random);
    p.key[static_cast<std::size_t>(at * 9 + 4)] = kNaN;
    AttentionOutputs got = attend(p, context());
    EXPECT_THAT(got.output, ::testing::Each(::testing::IsNan()));
    EXPECT_THAT(got.weights, ::testing::Each(::testing::IsNan()));
    EXPECT_THAT(got.log_sum_exp, ::testing::Each(::testing::IsNan()));

    // A NaN value affects only its own column.
    p = AttentionProblem(sizes, random);
    p.value[static_cast<std::size_t>(at * 5 + 2)] = kNaN;
    got = attend(p, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      ASSERT_EQ(std::isnan(got.output[i]), i % 5 == 2) << i;
    }
  }
}

TEST_P(AttentionExclusionTest, nan_in_a_query_affects_only_its_own_row) {
  Random random;
  AttentionProblem p({.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5}, random);
  const AttentionOutputs clean = attend(p, context());
  for (const std::size_t row : {0U, 13U, 59U}) {
    AttentionProblem poisoned = p;
    poisoned.query[row * 9 + 3] = kNaN;
    const AttentionOutputs got = attend(poisoned, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      if (i / 5 == row) {
        ASSERT_TRUE(std::isnan(got.output[i])) << i;
      } else {
        ASSERT_EQ(got.output[i], clean.output[i]) << i;
      }
    }
  }
}

TEST_P(AttentionExclusionTest, weight_of_an_excluded_key_is_zero_even_if_other_weights_are_nan) {
  const std::vector<float> query{1}, key{kNaN, 1, 2}, value{1, 2, 3};
  const std::vector<std::uint8_t> mask{1, 1, 0};
  std::vector<float> output(1), weights(3, 9);
  attn::AttentionOptions options;
  options.mask = {mask.data(), {3}};
  options.weights = {weights.data(), {1, 1, 1, 3}};
  attn::scaled_dot_product_attention({query.data(), {1, 1}}, {key.data(), {3, 1}},
                                     {value.data(), {3, 1}}, {output.data(), {1, 1}}, options,
                                     context());
  EXPECT_TRUE(std::isnan(output[0]));
  EXPECT_TRUE(std::isnan(weights[0]));
  EXPECT_TRUE(std::isnan(weights[1]));
  EXPECT_EQ(weights[2], 0.0F);
}

TEST_P(AttentionExclusionTest, excluded_keys_match_the_reference_even_if_another_key_is_nan) {
  for (const std::int64_t queries : {1, 20, 108}) {
    Random random;
    AttentionProblem p({.num_queries = queries, .num_keys = 40, .head_dim = 4, .value_dim = 3},
                       random);
    p.key[7 * 4 + 1] = kNaN;
    p.mask_shape = {40};
    p.mask.assign(40, 1);
    p.mask[5] = p.mask[39] = 0;
    expect_matches_reference(p, context());
  }
}

TEST_P(AttentionExclusionTest, infinite_values_are_passed_on) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 40, .head_dim = 4, .value_dim = 3}, random);
  p.value[7 * 3 + 1] = kInfinity;
  p.value[30 * 3 + 2] = -kInfinity;
  p.mask_shape = {20, 40};
  p.mask.assign(800, 1);
  for (std::size_t i = 0; i < 20; i += 2) p.mask[i * 40 + 7] = 0;  // even rows exclude key 7
  expect_matches_reference(p, context());
}

TEST_P(AttentionExclusionTest, a_row_computed_again_because_of_an_excluded_nan_keeps_its_bits) {
  Random random;
  AttentionProblem p({.num_queries = 60, .num_keys = 700, .head_dim = 8, .value_dim = 17}, random);
  p.mask_shape = {700};
  p.mask.assign(700, 1);
  for (const std::size_t j : {5U, 256U, 699U}) p.mask[j] = 0;
  const AttentionOutputs clean = attend(p, context());
  for (const std::size_t j : {5U, 256U, 699U}) p.value[j * 17 + 3] = kNaN;
  EXPECT_TRUE(same_bits(attend(p, context()).output, clean.output));
}

}  // namespace
