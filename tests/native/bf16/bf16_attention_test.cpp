// Tests attention over bf16 tensors with products of pairs, for every kernel table that has them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/element_type.hpp"
#include "bf16/emulated_bf16.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "runtime/execution.hpp"

namespace {

using attn::BFloat16;
using attn_test::AttentionProblem;
using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;

/// Returns one context with `num_threads` threads for each table in bf16_kernels().
std::vector<std::unique_ptr<attn::Context>> contexts(int num_threads = 2) {
  std::vector<std::unique_ptr<attn::Context>> result;
  for (const auto& kernels : attn_test::bf16_kernels()) {
    result.push_back(std::make_unique<attn::Context>(
        attn::ContextOptions{.num_threads = num_threads, .instruction_set = kernels.floats}));
    attn::runtime::ContextAccess::impl(*result.back()).bf16_kernels = kernels.table;
  }
  return result;
}

void round_to_bf16(std::vector<float>& numbers) {
  for (float& x : numbers) x = BFloat16(x);
}

/// A problem whose numbers are exact in bf16.
AttentionProblem problem_of(const attn_test::AttentionSizes& sizes, Random& random) {
  AttentionProblem p(sizes, random);
  round_to_bf16(p.query);
  round_to_bf16(p.key);
  round_to_bf16(p.value);
  return p;
}

struct Result {
  std::vector<float> output, log_sum_exp;
};

template <class T = BFloat16>
Result attend_as(const AttentionProblem& p, attn::Context& context) {
  const auto stored = [&](const std::vector<std::int64_t>& shape, const std::vector<float>& x) {
    return HostTensor<T>(shape, std::vector<T>(x.begin(), x.end()), p.layout);
  };
  const auto query = stored(p.query_shape(), p.query);
  const auto key = stored(p.key_shape(), p.key);
  const auto value = stored(p.value_shape(), p.value);
  auto output = FloatTensor::filled(p.output_shape(), 77.0F, p.layout);
  auto sums = FloatTensor::filled(p.row_shape(), 77.0F);
  const attn_test::AttentionInputs inputs(p);
  attn::AttentionOptions options = inputs.options();
  options.log_sum_exp = sums.view();
  attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(), options,
                                     context);
  EXPECT_TRUE(output.gaps_are_untouched());
  return {output.values(), sums.values()};
}

void expect_within_bounds(const AttentionProblem& p) {
  reference::AttentionResult exact = p.expected();
  const reference::Array rounding = attn_test::rounding_of_weights(p, exact);
  for (std::size_t i = 0; i < rounding.values.size(); ++i) {
    exact.output_error.values[i] += rounding.values[i];
  }
  const auto all = contexts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(attn_test::bf16_kernels()[i].name);
    const Result got = attend_as(p, *all[i]);
    EXPECT_TRUE(attn_test::is_within(got.output, exact.output, exact.output_error));
    EXPECT_TRUE(attn_test::is_within(got.log_sum_exp, exact.log_sum_exp, exact.log_sum_exp_error));
  }
}

TEST(Bf16AttentionTest, is_within_the_stated_bound_at_awkward_sizes) {
  Random random;
  for (const auto& [queries, keys, dim, value_dim] : {std::array<std::int64_t, 4>{2, 1, 1, 1},
                                                      {2, 17, 2, 3},
                                                      {49, 63, 13, 17},
                                                      {48, 64, 64, 64},
                                                      {7, 127, 7, 16},
                                                      {50, 129, 16, 33},
                                                      {97, 257, 64, 20},
                                                      {193, 300, 20, 48},
                                                      {5, 33, 128, 128},
                                                      {130, 272, 64, 32},
                                                      {70, 144, 96, 80},
                                                      {3, 100, 6, 1}}) {
    for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread}) {
      SCOPED_TRACE(std::to_string(queries) + ", " + std::to_string(keys) + ", " +
                   std::to_string(dim) + ", " + std::to_string(value_dim));
      AttentionProblem p = problem_of({.batch = 1,
                                       .query_heads = 2,
                                       .key_heads = 1,
                                       .num_queries = queries,
                                       .num_keys = keys,
                                       .head_dim = dim,
                                       .value_dim = value_dim},
                                      random);
      p.layout = layout;
      expect_within_bounds(p);
      p.causal = true;
      p.diagonal = attn::Diagonal::bottom_right();
      expect_within_bounds(p);
    }
  }
}

TEST(Bf16AttentionTest, masks_of_whole_tiles) {
  Random random;
  for (const auto& [queries, keys] : {std::pair{150, 300}, std::pair{70, 129}}) {
    AttentionProblem p = problem_of(
        {.num_queries = queries, .num_keys = keys, .head_dim = 20, .value_dim = 17}, random);
    p.mask = attn_test::document_mask(queries, keys);
    p.mask_shape = {queries, keys};
    expect_within_bounds(p);
    AttentionProblem biased = p;
    biased.bias_shape = p.mask_shape;
    for (const std::uint8_t attends : p.mask) biased.bias.push_back(attends ? 0.5F : -kInfinity);
    biased.mask.clear();
    expect_within_bounds(biased);
    // If some rows attend to all keys, no tile can be skipped. The other rows keep their bits.
    AttentionProblem whole = p;
    const auto changed = attn_test::let_some_rows_attend_to_all(whole.mask, queries, keys);
    for (const auto& context : contexts()) {
      const Result skipped = attend_as(p, *context);
      const Result expected = attend_as(whole, *context);
      for (std::int64_t i = 0; i < queries; ++i) {
        if (std::ranges::count(changed, i) != 0) continue;
        for (std::int64_t c = i * 17; c < (i + 1) * 17; ++c) {
          const auto at = static_cast<std::size_t>(c);
          ASSERT_EQ(skipped.output[at], expected.output[at]) << i;
        }
      }
    }
  }
}

AttentionProblem grouped(Random& random) {
  return problem_of({.batch = 2,
                     .query_heads = 4,
                     .key_heads = 2,
                     .num_queries = 60,
                     .num_keys = 300,
                     .head_dim = 20,
                     .value_dim = 12},
                    random);
}

TEST(Bf16AttentionTest, every_term_of_the_scores) {
  Random random;
  AttentionProblem p = grouped(random);
  p.window = attn::Window{.left = 100, .right = 30};
  expect_within_bounds(p);
  p.scale = -0.3F;
  expect_within_bounds(p);
  p.valid_lens = {299, 120};
  p.sinks = random.normals(p.sizes.query_heads);
  expect_within_bounds(p);
  p.alibi_slopes = random.uniforms(p.sizes.query_heads, 0, 0.1F);
  expect_within_bounds(p);
  p.softcap = 20;
  expect_within_bounds(p);
  p.bias_shape = p.score_shape();
  p.bias = random.normals(AttentionProblem::count(p.bias_shape));
  expect_within_bounds(p);
  p.mask_shape = p.score_shape();
  for (std::int64_t i = 0; i < AttentionProblem::count(p.mask_shape); ++i) {
    p.mask.push_back(random.chance(0.8));
  }
  expect_within_bounds(p);
  p.scale = 0.0F;
  expect_within_bounds(p);
}

TEST(Bf16AttentionTest, keys_that_are_copied_and_keys_that_are_not_give_the_same_bits) {
  Random random;
  AttentionProblem p =
      problem_of({.num_queries = 33, .num_keys = 160, .head_dim = 32, .value_dim = 16}, random);
  for (const auto& context : contexts()) {
    const auto attend = [&](std::int64_t key_row) {
      // Rows with an odd stride cannot be read as pairs.
      std::vector<BFloat16> keys(static_cast<std::size_t>(160 * key_row), BFloat16(kNaN));
      for (std::int64_t i = 0; i < 160 * 32; ++i) {
        keys[static_cast<std::size_t>(i / 32 * key_row + i % 32)] =
            BFloat16(p.key[static_cast<std::size_t>(i)]);
      }
      using View = attn::TensorView<const BFloat16>;
      const std::vector<BFloat16> query(p.query.begin(), p.query.end());
      const std::vector<BFloat16> value(p.value.begin(), p.value.end());
      const std::array<std::int64_t, 2> shape{160, 32}, strides{key_row, 1};
      std::vector<float> output(33 * 16);
      attn::scaled_dot_product_attention(
          View(query.data(), {33, 32}), View(keys.data(), shape, strides),
          View(value.data(), {160, 16}), attn::Tensor(output.data(), {33, 16}), {}, *context);
      return output;
    };
    const std::vector<float> in_place = attend(32);
    EXPECT_TRUE(attn_test::same_bits(attend(37), in_place));
    EXPECT_TRUE(attn_test::same_bits(attend(2048), in_place));
  }
}

TEST(Bf16AttentionTest, calls_without_pair_products_have_the_bits_of_the_widened_call) {
  Random random;
  for (const auto& context : contexts()) {
    AttentionProblem p = grouped(random);
    EXPECT_FALSE(
        attn_test::same_bits(attend_as(p, *context).output, attend_as<float>(p, *context).output));
    AttentionProblem dropped = p;
    dropped.dropout = 0.3F;
    AttentionProblem relative = p;
    relative.max_distance = 5;
    relative.relative_keys = random.normals(11 * p.sizes.head_dim);
    AttentionProblem relative_values = p;
    relative_values.max_distance = 5;
    relative_values.relative_values = random.normals(11 * p.sizes.value_dim);
    AttentionProblem one = problem_of({.num_keys = 40, .head_dim = 8, .value_dim = 8}, random);
    for (const AttentionProblem& problem : {dropped, relative, relative_values, one}) {
      EXPECT_TRUE(attn_test::same_bits(attend_as(problem, *context).output,
                                       attend_as<float>(problem, *context).output));
    }
  }
}

TEST(Bf16AttentionTest, a_machine_gives_the_bits_of_its_emulation) {
  Random random;
  const auto all = contexts();
  const attn::InstructionSet machine = all.back()->instruction_set();
  if (machine != attn::InstructionSet::kAmxBf16 && machine != attn::InstructionSet::kNeonBf16) {
    GTEST_SKIP() << "this machine can execute neither amx_bf16 nor neon_bf16";
  }
  // Both contexts use the same vector instructions, but one of them emulates the bf16 instructions.
  attn::Context& emulation = *all[all.size() - 2];
  for (AttentionProblem p :
       {grouped(random),
        problem_of({.num_queries = 130, .num_keys = 272, .head_dim = 64, .value_dim = 64},
                   random)}) {
    for (const bool causal : {false, true}) {
      p.causal = causal;
      const Result got = attend_as(p, *all.back()), want = attend_as(p, emulation);
      EXPECT_TRUE(attn_test::same_bits(got.output, want.output));
      EXPECT_TRUE(attn_test::same_bits(got.log_sum_exp, want.log_sum_exp));
    }
  }
}

TEST(Bf16AttentionTest, one_key_gives_its_value_up_to_float32_rounding) {
  Random random;
  AttentionProblem p =
      problem_of({.num_queries = 20, .num_keys = 60, .head_dim = 16, .value_dim = 16}, random);
  p.window = attn::Window{.left = 0, .right = 0};
  for (const auto& context : contexts()) {
    const std::vector<float> got = attend_as(p, *context).output;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], p.value[i], 0x1p-22 * std::abs(p.value[i]));
    }
  }
}

TEST(Bf16AttentionTest, bits_do_not_depend_on_threads_batch_and_other_queries) {
  Random random;
  AttentionProblem p = grouped(random);
  p.causal = true;
  p.diagonal = attn::Diagonal::bottom_right();
  const auto one = contexts(1), three = contexts(3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    const Result all = attend_as(p, *one[i]);
    EXPECT_TRUE(attn_test::same_bits(attend_as(p, *three[i]).output, all.output));
    for (std::int64_t b = 0; b < 2; ++b) {
      const Result entry = attend_as(attn_test::entry_of(p, b), *three[i]);
      const auto size = static_cast<std::int64_t>(entry.output.size());
      EXPECT_TRUE(attn_test::same_bits(
          entry.output, {all.output.begin() + b * size, all.output.begin() + (b + 1) * size}));
    }
  }
}

TEST(Bf16AttentionTest, excluded_numbers_that_are_not_finite_change_no_bit) {
  Random random;
  AttentionProblem p = grouped(random);
  p.mask_shape = {p.sizes.num_keys};
  for (std::int64_t j = 0; j < p.sizes.num_keys; ++j) p.mask.push_back(random.chance(0.7));
  AttentionProblem dirty = p;
  for (std::int64_t row = 0; row < 4 * p.sizes.num_keys; ++row) {
    if (p.mask[static_cast<std::size_t>(row % p.sizes.num_keys)] != 0) continue;
    dirty.key[static_cast<std::size_t>(row * 20 + row % 20)] = row % 2 == 0 ? kNaN : kInfinity;
    dirty.value[static_cast<std::size_t>(row * 12 + row % 12)] = row % 2 == 0 ? -kInfinity : kNaN;
  }
  for (const auto& context : contexts()) {
    const Result want = attend_as(p, *context), got = attend_as(dirty, *context);
    EXPECT_TRUE(attn_test::same_bits(got.output, want.output));
    EXPECT_TRUE(attn_test::same_bits(got.log_sum_exp, want.log_sum_exp));
    // If a query attends to the key, the NaN reaches the output.
    AttentionProblem attended = dirty;
    attended.mask.assign(attended.mask.size(), 1);
    EXPECT_TRUE(std::isnan(attend_as(attended, *context).output[0]));
  }
  // NaN and infinity in keys excluded by causal order or by a valid length must not affect the
  // result.
  AttentionProblem causal = grouped(random);
  causal.causal = true;
  causal.valid_lens = {200, 31};
  AttentionProblem dirty_causal = causal;
  for (std::int64_t row = 0; row < 4 * 300; ++row) {
    if (row % 300 < 60 && row % 300 < causal.valid_lens[static_cast<std::size_t>(row / 600)]) {
      continue;
    }
    dirty_causal.key[static_cast<std::size_t>(row * 20 + 3)] = kNaN;
    dirty_causal.value[static_cast<std::size_t>(row * 12 + 5)] = kInfinity;
  }
  for (const auto& context : contexts()) {
    EXPECT_TRUE(attn_test::same_bits(attend_as(dirty_causal, *context).output,
                                     attend_as(causal, *context).output));
  }
}

TEST(Bf16AttentionTest, scores_that_tiles_cannot_hold) {
  Random random;
  AttentionProblem p =
      problem_of({.num_queries = 9, .num_keys = 40, .head_dim = 8, .value_dim = 8}, random);
  for (float& x : p.query) x = BFloat16(x * 1e5F);
  for (float& x : p.key) x = BFloat16(x * 1e5F);
  expect_within_bounds(p);
  // An infinite score gets all of the weight.
  AttentionProblem infinite =
      problem_of({.num_queries = 9, .num_keys = 40, .head_dim = 1, .value_dim = 8}, random);
  for (float& x : infinite.query) x = 1;
  infinite.key[7] = -kInfinity;
  for (const auto& context : contexts()) {
    EXPECT_TRUE(attn_test::same_bits(attend_as(infinite, *context).output, [&] {
      AttentionProblem without = infinite;
      without.mask.assign(40, 1);
      without.mask[7] = 0;
      without.mask_shape = {40};
      return attend_as(without, *context).output;
    }()));
  }
}

TEST(Bf16AttentionTest, rows_with_nothing_to_attend_to_are_zero) {
  Random random;
  AttentionProblem p = grouped(random);
  p.valid_lens = {0, 300};
  for (const auto& context : contexts()) {
    const Result got = attend_as(p, *context);
    for (std::size_t i = 0; i < got.output.size() / 2; ++i) ASSERT_EQ(got.output[i], 0.0F);
    for (std::size_t i = 0; i < got.log_sum_exp.size() / 2; ++i) {
      ASSERT_EQ(got.log_sum_exp[i], -kInfinity);
    }
  }
}

TEST(Bf16AttentionTest, packed_sequences_get_the_bits_of_separate_calls) {
  Random random;
  const std::vector<std::int32_t> starts =
      attn_test::cumulative({0, 64, 63, 1, 65, 33, 0, 129, 5, 47, 48, 49, 16});
  for (const bool is_causal : {false, true}) {
    for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside}) {
      AttentionProblem p = problem_of({.query_heads = 2,
                                       .num_queries = starts.back(),
                                       .num_keys = starts.back(),
                                       .head_dim = 64,
                                       .value_dim = 20},
                                      random);
      p.cu_seqlens = starts;
      p.causal = is_causal;
      p.layout = layout;
      // NaN in one sequence must not reach another.
      for (std::int64_t i = starts[1]; i < starts[2]; ++i) {
        std::fill_n(p.value.begin() + i * 20, 20, kNaN);
      }
      const auto all = contexts();
      for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(attn_test::bf16_kernels()[i].name);
        const Result got = attend_as(p, *all[i]);
        for (std::int64_t s = 2; s + 1 < std::ssize(starts); ++s) {
          const AttentionProblem alone = attn_test::sequence_of(p, s);
          SCOPED_TRACE(::testing::Message() << alone.sizes.num_queries << " tokens");
          // A separate call with so few keys takes a different path, which computes in float32.
          if (alone.sizes.num_queries <= 16) continue;
          const Result separate = attend_as(alone, *all[i]);
          EXPECT_TRUE(
              attn_test::same_bits(attn_test::queries_of(p, got.output, s), separate.output));
          EXPECT_TRUE(attn_test::same_bits(attn_test::queries_of(p, got.log_sum_exp, s),
                                           separate.log_sum_exp));
        }
      }
    }
  }
}

}  // namespace
