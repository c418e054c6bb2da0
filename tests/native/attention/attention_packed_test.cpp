// Tests packed sequences: several sequences that follow one another in a batch of one, with the
// options cu_seqlens and cu_seqlens_k.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "attention/attention_problem.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::Diagonal;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::cumulative;
using attn_test::is_within;
using attn_test::keys_of;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::queries_of;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::sequence_of;

using PackedAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(PackedAttentionTest);

using Lengths = std::vector<std::int32_t>;

/// Empty sequences, single queries, and lengths just below, at and above the sizes of blocks and
/// tiles, as queries and as keys.
const Lengths kLengths{0, 64, 1, 63, 65, 0, 129, 5, 48, 47, 49, 127, 128, 2, 0};
const Lengths kKeyLengths{3, 65, 300, 64, 0, 0, 257, 1, 128, 127, 129, 63, 64, 16, 0};

/// A problem with packed sequences of these lengths. `keys` are the lengths of the keys if they
/// differ from `queries`.
AttentionProblem packed(const Lengths& queries, const Lengths& keys, Random& random,
                        std::int64_t head_dim = 20, std::int64_t value_dim = 17) {
  const std::vector<std::int32_t> starts = cumulative(queries);
  const std::vector<std::int32_t> key_starts = keys.empty() ? starts : cumulative(keys);
  AttentionProblem p({.batch = 1,
                      .query_heads = 4,
                      .key_heads = 2,
                      .num_queries = starts.back(),
                      .num_keys = key_starts.back(),
                      .head_dim = head_dim,
                      .value_dim = value_dim},
                     random);
  p.cu_seqlens = starts;
  if (!keys.empty()) p.cu_seqlens_k = key_starts;
  return p;
}

AttentionOutputs attend_packed(const AttentionProblem& p, attn::Context& context) {
  return attend(p, context, {.log_sum_exp = true});
}

AttentionOutputs sum_packed(const AttentionProblem& p, attn::Context& context) {
  return attend(p, context, {.column_sums = true});
}

/// The column sums of the keys of sequence s.
std::vector<float> sums_of(const AttentionProblem& p, const std::vector<float>& sums,
                           std::int64_t s) {
  const auto at = static_cast<std::size_t>(s);
  const auto& starts = p.cu_seqlens_k.empty() ? p.cu_seqlens : p.cu_seqlens_k;
  return attn_test::rows_of(sums, p.sizes.query_heads, p.sizes.num_keys, starts[at],
                            starts[at + 1]);
}

/// Compares every sequence with the reference and, if it has more than one query, also with the
/// bits of a separate call.
void expect_sequences(const AttentionProblem& p, attn::Context& context) {
  const AttentionOutputs got = attend_packed(p, context);
  const AttentionOutputs summed = sum_packed(p, context);
  EXPECT_TRUE(same_bits(summed.output, got.output));
  for (std::int64_t s = 0; s + 1 < std::ssize(p.cu_seqlens); ++s) {
    const AttentionProblem alone = sequence_of(p, s);
    SCOPED_TRACE("sequence " + std::to_string(s) + " with " +
                 std::to_string(alone.sizes.num_queries) + " queries and " +
                 std::to_string(alone.sizes.num_keys) + " keys");
    const std::vector<float> output = queries_of(p, got.output, s);
    const std::vector<float> log_sum_exp = queries_of(p, got.log_sum_exp, s);
    const reference::AttentionResult exact = alone.expected();
    EXPECT_TRUE(is_within(output, exact.output, exact.output_error));
    EXPECT_TRUE(is_within(log_sum_exp, exact.log_sum_exp, exact.log_sum_exp_error));
    const std::vector<float> sums = sums_of(p, summed.column_sums, s);
    const attn_test::ColumnSums exact_sums = attn_test::column_sums(exact);
    EXPECT_TRUE(is_within(sums, exact_sums.exact, exact_sums.error));
    if (alone.sizes.num_queries == 1) continue;
    EXPECT_TRUE(same_bits(sums, sum_packed(alone, context).column_sums));
    const AttentionOutputs separate = attend_packed(alone, context);
    EXPECT_TRUE(same_bits(output, separate.output));
    EXPECT_TRUE(same_bits(log_sum_exp, separate.log_sum_exp));
  }
}

TEST_P(PackedAttentionTest, every_sequence_gets_the_bits_of_a_separate_call) {
  Random random;
  for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread}) {
    for (const Lengths& keys : {Lengths{}, kKeyLengths}) {
      AttentionProblem p = packed(kLengths, keys, random);
      p.layout = layout;
      expect_sequences(p, context());
    }
  }
}

TEST_P(PackedAttentionTest, causal_order_and_windows_apply_to_each_sequence) {
  Random random;
  for (const Lengths& keys : {Lengths{}, kKeyLengths}) {
    for (const Diagonal diagonal :
         {Diagonal::top_left(), Diagonal::bottom_right(), Diagonal::offset(3)}) {
      AttentionProblem p = packed(kLengths, keys, random);
      p.diagonal = diagonal;
      p.causal = true;
      expect_sequences(p, context());
      p.causal = false;
      p.window = attn::Window{10, 3};
      expect_sequences(p, context());
    }
  }
}

TEST_P(PackedAttentionTest, terms_of_the_score_apply_to_each_sequence) {
  Random random;
  for (const Lengths& keys : {Lengths{}, kKeyLengths}) {
    AttentionProblem p = packed(kLengths, keys, random);
    p.softcap = 4;
    p.scale = 0.3F;
    p.sinks = random.normals(4);
    p.alibi_slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
    p.t5_table = random.normals(8 * 4);
    p.diagonal = Diagonal::bottom_right();
    expect_sequences(p, context());
    p.max_distance = 5;
    p.relative_keys = random.normals(AttentionProblem::count(p.relative_shape(20)));
    p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(17)));
    expect_sequences(p, context());
  }
}

TEST_P(PackedAttentionTest, short_sequences_use_the_code_for_few_keys) {
  Random random;
  for (const Lengths& lengths : {Lengths{3, 16, 2, 1, 7, 16}, Lengths{1, 1, 1}, Lengths{5}}) {
    AttentionProblem p = packed(lengths, {}, random, 8, 32);
    expect_sequences(p, context());
    p.causal = true;
    expect_sequences(p, context());
  }
  AttentionProblem p = packed({3, 0, 5}, {16, 2, 1}, random, 8, 32);
  expect_sequences(p, context());
}

TEST_P(PackedAttentionTest, a_single_sequence_gets_the_bits_of_a_call_without_sequences) {
  Random random;
  AttentionProblem p = packed({150}, {}, random);
  const AttentionOutputs got = attend_packed(p, context());
  p.cu_seqlens.clear();
  EXPECT_TRUE(same_bits(got.output, attend_packed(p, context()).output));
}

TEST_P(PackedAttentionTest, nan_in_one_sequence_does_not_reach_another) {
  Random random;
  for (const bool is_causal : {false, true}) {
    AttentionProblem p = packed({60, 70, 66}, {}, random);
    p.causal = is_causal;
    const AttentionOutputs clean = attend_packed(p, context());
    for (std::int64_t spoiled = 0; spoiled < 3; ++spoiled) {
      AttentionProblem q = p;
      const auto spoil = [&](std::vector<float>& values, std::int64_t heads, std::int64_t width) {
        const std::int64_t begin = q.cu_seqlens[static_cast<std::size_t>(spoiled)];
        const std::int64_t end = q.cu_seqlens[static_cast<std::size_t>(spoiled) + 1];
        for (std::int64_t h = 0; h < heads; ++h) {
          std::fill_n(values.begin() + (h * q.sizes.num_queries + begin) * width,
                      (end - begin) * width, kNaN);
        }
      };
      spoil(q.query, 4, 20);
      spoil(q.key, 2, 20);
      spoil(q.value, 2, 17);
      const AttentionOutputs got = attend_packed(q, context());
      for (std::int64_t s = 0; s < 3; ++s) {
        const std::vector<float> output = queries_of(p, got.output, s);
        if (s == spoiled) {
          EXPECT_TRUE(
              std::all_of(output.begin(), output.end(), [](float x) { return std::isnan(x); }));
        } else {
          EXPECT_TRUE(same_bits(output, queries_of(p, clean.output, s)));
          EXPECT_TRUE(
              same_bits(queries_of(p, got.log_sum_exp, s), queries_of(p, clean.log_sum_exp, s)));
        }
      }
    }
  }
}

TEST_P(PackedAttentionTest, the_number_of_threads_changes_no_bit) {
  Random random;
  AttentionProblem p = packed({700, 1, 0, 64, 17, 300}, {}, random);
  p.causal = true;
  attn::Context one({.num_threads = 1, .instruction_set = context().instruction_set()});
  attn::Context many({.num_threads = 5, .instruction_set = context().instruction_set()});
  EXPECT_TRUE(same_bits(attend_packed(p, many).output, attend_packed(p, one).output));
}

// If all values are 1, each output is the sum of the weights that dropout keeps. This sum is 1 on
// average.
TEST_P(PackedAttentionTest, dropout_differs_between_sequences) {
  Random random;
  AttentionProblem p = packed({40, 40, 40, 40, 9, 40}, {}, random);
  std::fill(p.value.begin(), p.value.end(), 1.0F);
  p.dropout = 0.25F;
  const AttentionOutputs got = attend_packed(p, context());
  std::vector<std::vector<float>> sums;
  for (std::int64_t s = 0; s < 6; ++s) sums.push_back(queries_of(p, got.output, s));
  for (std::size_t a = 0; a < sums.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(same_bits(sums[a], sums[b]));
  }
  const double mean = std::accumulate(got.output.begin(), got.output.end(), 0.0) /
                      static_cast<double>(got.output.size());
  EXPECT_NEAR(mean, 1, 0.02);
}

// ---- Errors

std::string error_of_call(const AttentionProblem& p) {
  return attn_test::error_of([&] { attend(p, attn::Context::default_context(), {}); });
}

TEST(PackedAttentionErrorTest, cu_seqlens_start_at_0_never_decrease_and_end_at_the_length) {
  Random random;
  AttentionProblem p({.num_queries = 10, .num_keys = 10, .head_dim = 4, .value_dim = 4}, random);
  p.cu_seqlens = {1, 10};
  EXPECT_EQ(error_of_call(p), "invalid_argument: cu_seqlens: got 1, needs 0 at the beginning");
  p.cu_seqlens = {0, 5, 4, 10};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: cu_seqlens: got 4, needs at least 5, the number before it");
  p.cu_seqlens = {0, 5, 9};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: cu_seqlens: got 9, needs 10 at the end, the number of queries");
  p.cu_seqlens = {0, 5, 11};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: cu_seqlens: got 11, needs 10 at the end, the number of queries");
  p.cu_seqlens = {0};
  EXPECT_EQ(error_of_call(p),
            "shape_mismatch: cu_seqlens: got shape (1), needs shape (S + 1), for one sequence or "
            "more");
  p.cu_seqlens = {0, -5, 10};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: cu_seqlens: got -5, needs at least 0, the number before it");
}

TEST(PackedAttentionErrorTest, cu_seqlens_k_match_cu_seqlens_and_the_keys) {
  Random random;
  AttentionProblem p({.num_queries = 10, .num_keys = 12, .head_dim = 4, .value_dim = 4}, random);
  p.cu_seqlens = {0, 4, 10};
  EXPECT_EQ(error_of_call(p), "shape_mismatch: key: got length 12, needs 10, the length of query");
  p.cu_seqlens_k = {0, 4, 10};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: cu_seqlens_k: got 10, needs 12 at the end, the number of keys");
  p.cu_seqlens_k = {0, 12};
  EXPECT_EQ(error_of_call(p),
            "shape_mismatch: cu_seqlens_k: got length 2, needs 3, the length of cu_seqlens");
  p.cu_seqlens.clear();
  EXPECT_EQ(
      error_of_call(p),
      "invalid_argument: cu_seqlens: got none, needs the index of each sequence's first query, "
      "because cu_seqlens_k is set");
}

TEST(PackedAttentionErrorTest, options_for_whole_batch_entries_are_rejected) {
  Random random;
  AttentionProblem p({.num_queries = 6, .num_keys = 6, .head_dim = 4, .value_dim = 4}, random);
  p.cu_seqlens = {0, 2, 6};
  const AttentionProblem valid = p;
  p.mask.assign(36, 1);
  p.mask_shape = {6, 6};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: mask: got a tensor, needs none, because cu_seqlens is set");
  p = valid;
  p.bias.assign(36, 1);
  p.bias_shape = {6, 6};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: bias: got a tensor, needs none, because cu_seqlens is set");
  p = valid;
  p.valid_lens = {3};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: valid_lens: got a tensor, needs none, because cu_seqlens is set");
  p = valid;
  p.key_lens = {3};
  EXPECT_EQ(error_of_call(p),
            "invalid_argument: key_lens: got a tensor, needs none, because cu_seqlens is set");
  p = valid;
  EXPECT_EQ(
      attn_test::error_of([&] { attend(p, attn::Context::default_context(), {.weights = true}); }),
      "invalid_argument: weights: got a tensor, needs none, because cu_seqlens is set");
  AttentionProblem batch(
      {.batch = 2, .num_queries = 6, .num_keys = 6, .head_dim = 4, .value_dim = 4}, random);
  batch.cu_seqlens = {0, 6};
  EXPECT_EQ(error_of_call(batch),
            "shape_mismatch: query: got batch 2, needs batch 1, because cu_seqlens packs the "
            "sequences into one entry");
}

TEST(PackedAttentionErrorTest, failed_calls_leave_outputs_untouched) {
  const std::vector<float> rows(40, 1.0F);
  std::vector<float> output(40, 5.0F), log_sum_exp(10, 5.0F);
  const Lengths starts{0, 11};
  const attn::ConstTensor x(rows.data(), {10, 4});
  EXPECT_NE(attn_test::error_of([&] {
              attn::scaled_dot_product_attention(
                  x, x, x, attn::Tensor(output.data(), {10, 4}),
                  {.cu_seqlens = starts, .log_sum_exp = {log_sum_exp.data(), {1, 1, 10}}});
            }),
            "");
  EXPECT_THAT(output, ::testing::Each(5.0F));
  EXPECT_THAT(log_sum_exp, ::testing::Each(5.0F));
}

}  // namespace
