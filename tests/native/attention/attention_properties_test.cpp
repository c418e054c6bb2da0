// Tests properties that hold for every call to scaled_dot_product_attention. The calls have random
// shapes, layouts and options, and a few are chosen by hand. Set ATTN_TEST_SEED to try other random
// calls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"

namespace {

using attn::Diagonal;
using attn::Window;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::AttentionWants;
using attn_test::entry_of;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::random_diagonal;
using attn_test::random_lengths;
using attn_test::random_window;
using attn_test::same_bits;

constexpr int kRounds = 20;

class AttentionPropertiesTest : public attn_test::EveryInstructionSet {
 protected:
  static AttentionSizes random_sizes(Random& random) {
    const std::int64_t key_heads = random.integer(1, 2);
    return {.batch = random.integer(1, 3),
            .query_heads = key_heads * random.integer(1, 3),
            .key_heads = key_heads,
            .num_queries = random.pick<std::int64_t>({1, 2, 7, 13, 47, 49, 60}),
            .num_keys = random.pick<std::int64_t>({1, 2, 15, 17, 64, 127, 129, 257, 300, 530}),
            .head_dim = random.pick<std::int64_t>({1, 3, 8, 16, 20}),
            .value_dim = random.pick<std::int64_t>({1, 4, 7, 17})};
  }
  /// A problem with random options. It has no dropout and no sinks, because with either of them the
  /// weights need not sum to 1.
  static AttentionProblem random_problem(Random& random) {
    const AttentionSizes sizes = random_sizes(random);
    AttentionProblem p(sizes, random);
    p.layout = static_cast<Layout>(random.integer(0, 4));
    if (random.chance(0.4)) p.scale = random.uniform(-1, 1);
    if (random.chance(0.4)) p.softcap = random.uniform(0.5F, 10);
    if (random.chance(0.4)) {
      p.bias_shape = {sizes.num_queries, sizes.num_keys};
      p.bias = random.normals(AttentionProblem::count(p.bias_shape), 3);
    }
    if (random.chance(0.4)) {
      p.mask_shape = {sizes.batch, 1, 1, sizes.num_keys};
      for (std::int64_t i = 0; i < sizes.batch * sizes.num_keys; ++i) {
        p.mask.push_back(random.chance(0.7));
      }
    }
    p.diagonal = random_diagonal(sizes, random);
    p.causal = random.chance(0.3);
    if (random.chance(0.3)) p.window = random_window(sizes, random);
    if (random.chance(0.3)) p.valid_lens = random_lengths(sizes.batch, sizes.num_keys, random);
    if (random.chance(0.3)) p.alibi_slopes = random.uniforms(sizes.query_heads, 0, 0.5F);
    if (random.chance(0.2)) p.t5_table = random.normals(8 * sizes.query_heads);
    return p;
  }
  static std::string describe(int round, const AttentionProblem& p) {
    return "round " + std::to_string(round) + ": scores " +
           ::testing::PrintToString(p.score_shape()) + ", widths " +
           std::to_string(p.sizes.head_dim) + " and " + std::to_string(p.sizes.value_dim);
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionPropertiesTest);

TEST_P(AttentionPropertiesTest, weights_are_not_negative_and_sum_to_1_or_all_are_0) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const AttentionProblem p = random_problem(random);
    SCOPED_TRACE(describe(round, p));
    const AttentionOutputs got = attend(p, context());
    const auto keys = static_cast<std::size_t>(p.sizes.num_keys);
    for (std::size_t row = 0; row < got.log_sum_exp.size(); ++row) {
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        const float weight = got.weights[row * keys + j];
        ASSERT_GE(weight, 0) << row << ", " << j;
        sum += weight;
      }
      const bool empty = got.log_sum_exp[row] == -std::numeric_limits<float>::infinity();
      ASSERT_NEAR(sum, empty ? 0 : 1, 0x1p-24 * static_cast<double>(keys + 8)) << row;
    }
  }
}

TEST_P(AttentionPropertiesTest, outputs_are_within_the_hull_of_the_values) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const AttentionProblem p = random_problem(random);
    SCOPED_TRACE(describe(round, p));
    const AttentionOutputs got = attend(p, context());
    const AttentionSizes& s = p.sizes;
    const auto width = static_cast<std::size_t>(s.value_dim);
    for (std::size_t row = 0; row < got.log_sum_exp.size(); ++row) {
      const auto head = static_cast<std::int64_t>(row) / s.num_queries;
      const std::int64_t kv =
          head / s.query_heads * s.key_heads + head % s.query_heads / (s.query_heads / s.key_heads);
      const bool empty = got.log_sum_exp[row] == -std::numeric_limits<float>::infinity();
      for (std::size_t c = 0; c < width; ++c) {
        float low = std::numeric_limits<float>::infinity(), high = -low;
        for (std::int64_t j = 0; j < s.num_keys; ++j) {
          const float v = p.value[static_cast<std::size_t>(kv * s.num_keys + j) * width + c];
          low = std::min(low, v);
          high = std::max(high, v);
        }
        if (empty) low = high = 0;
        const float slack =
            static_cast<float>(s.num_keys + 8) * 0x1p-24F * std::max(std::abs(low), std::abs(high));
        ASSERT_GE(got.output[row * width + c], low - slack) << row << ", " << c;
        ASSERT_LE(got.output[row * width + c], high + slack) << row << ", " << c;
      }
    }
  }
}

/// Reorders the rows of each head's matrix (rows × `width`).
std::vector<float> reordered(const std::vector<float>& x, const std::vector<std::size_t>& order,
                             std::size_t width) {
  std::vector<float> result;
  for (std::size_t head = 0; head < x.size(); head += order.size() * width) {
    for (const std::size_t row : order) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(head + row * width);
      result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  }
  return result;
}

TEST_P(AttentionPropertiesTest,
       reordered_queries_reorder_outputs_and_reordered_keys_change_nothing) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const AttentionSizes sizes = random_sizes(random);
    AttentionProblem p(sizes, random);
    if (random.chance(0.5)) p.softcap = random.uniform(0.5F, 10);
    if (random.chance(0.5)) {
      p.mask_shape = {sizes.query_heads, 1, sizes.num_keys};
      for (std::int64_t i = 0; i < sizes.query_heads * sizes.num_keys; ++i) {
        p.mask.push_back(random.chance(0.7));
      }
    }
    SCOPED_TRACE(describe(round, p));
    const AttentionOutputs straight = attend(p, context());

    std::vector<std::size_t> order(static_cast<std::size_t>(sizes.num_queries));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine());
    AttentionProblem queries = p;
    queries.query = reordered(p.query, order, static_cast<std::size_t>(sizes.head_dim));
    const AttentionOutputs got = attend(queries, context());
    EXPECT_TRUE(same_bits(
        got.output, reordered(straight.output, order, static_cast<std::size_t>(sizes.value_dim))));
    EXPECT_TRUE(same_bits(
        got.weights, reordered(straight.weights, order, static_cast<std::size_t>(sizes.num_keys))));

    order.resize(static_cast<std::size_t>(sizes.num_keys));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine());
    AttentionProblem keys = p;
    keys.key = reordered(p.key, order, static_cast<std::size_t>(sizes.head_dim));
    keys.value = reordered(p.value, order, static_cast<std::size_t>(sizes.value_dim));
    for (std::size_t i = 0; i < keys.mask.size(); ++i) {
      keys.mask[i] = p.mask[i / order.size() * order.size() + order[i % order.size()]];
    }
    const reference::AttentionResult exact = p.expected();
    EXPECT_TRUE(is_within(attend(keys, context()).output, exact.output, exact.output_error));
  }
}

TEST_P(AttentionPropertiesTest, causal_order_windows_and_lengths_equal_masks) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const AttentionSizes sizes = random_sizes(random);
    AttentionProblem p(sizes, random);
    p.layout = static_cast<Layout>(random.integer(0, 4));
    if (random.chance(0.5)) p.window = random_window(sizes, random);
    p.diagonal = random_diagonal(sizes, random);
    p.causal = random.chance(0.5);
    if (random.chance(0.3)) p.key_lens = random_lengths(sizes.batch, sizes.num_keys, random);
    if (random.chance(0.3)) {
      p.valid_lens = random_lengths(sizes.batch * (random.chance(0.5) ? 1 : sizes.num_queries),
                                    sizes.num_keys, random);
    }
    SCOPED_TRACE(describe(round, p));
    AttentionProblem masked(sizes, random);
    masked.query = p.query;
    masked.key = p.key;
    masked.value = p.value;
    masked.mask_shape = {sizes.batch, 1, sizes.num_queries, sizes.num_keys};
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      const std::int64_t length =
          p.key_lens.empty() ? sizes.num_keys : p.key_lens[static_cast<std::size_t>(b)];
      for (std::int64_t i = 0; i < sizes.num_queries; ++i) {
        std::int64_t valid = length;
        if (!p.valid_lens.empty()) {
          const bool per_query = p.valid_lens_shape().size() == 2;
          const std::int64_t at = per_query ? b * sizes.num_queries + i : b;
          valid = std::min<std::int64_t>(valid, p.valid_lens[static_cast<std::size_t>(at)]);
        }
        for (std::int64_t j = 0; j < sizes.num_keys; ++j) {
          bool attends = j < valid;
          const std::int64_t diagonal = i + p.diagonal.resolve(sizes.num_queries, length);
          if (p.causal) attends &= j <= diagonal;
          if (p.window) {
            attends &= !p.window->left || j >= diagonal - *p.window->left;
            attends &= !p.window->right || j <= diagonal + *p.window->right;
          }
          masked.mask.push_back(attends);
        }
      }
    }
    const AttentionOutputs by_range = attend(p, context()), by_mask = attend(masked, context());
    EXPECT_TRUE(same_bits(by_range.output, by_mask.output));
    EXPECT_TRUE(same_bits(by_range.weights, by_mask.weights));
    EXPECT_TRUE(same_bits(by_range.biased_scores, by_mask.biased_scores));
    EXPECT_TRUE(same_bits(by_range.log_sum_exp, by_mask.log_sum_exp));
  }
}

TEST_P(AttentionPropertiesTest, cache_equals_no_cache_however_tokens_are_grouped) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    AttentionSizes sizes = random_sizes(random);
    sizes.num_queries = sizes.num_keys = random.pick<std::int64_t>({1, 2, 17, 49, 70});
    AttentionProblem all(sizes, random);
    all.causal = true;
    if (random.chance(0.5)) all.window = Window{.left = random.integer(0, 20)};
    if (random.chance(0.5)) all.alibi_slopes = random.uniforms(sizes.query_heads, 0, 0.5F);
    if (random.chance(0.5)) all.sinks = random.normals(sizes.query_heads);
    SCOPED_TRACE(describe(round, all));
    const reference::AttentionResult exact = all.expected();

    attn::KeyValueCache cache(sizes.batch, sizes.key_heads, sizes.head_dim, sizes.value_dim);
    const attn::ConstTensor query(all.query.data(), all.query_shape());
    const attn::ConstTensor key(all.key.data(), all.key_shape());
    const attn::ConstTensor value(all.value.data(), all.value_shape());
    std::vector<float> output(exact.output.values.size());
    const attn::Tensor out(output.data(), all.output_shape());
    for (std::int64_t begin = 0; begin < sizes.num_keys;) {
      const std::int64_t end = std::min(sizes.num_keys, begin + random.integer(1, 20));
      cache.append(key.slice(2, begin, end), value.slice(2, begin, end));
      attn::AttentionOptions options;
      options.causal = true;
      options.diagonal = Diagonal::offset(begin);
      options.window = all.window;
      if (!all.alibi_slopes.empty()) {
        options.alibi_slopes = {all.alibi_slopes.data(), {sizes.query_heads}};
      }
      if (!all.sinks.empty()) options.sinks = {all.sinks.data(), {sizes.query_heads}};
      attn::scaled_dot_product_attention(query.slice(2, begin, end), cache.keys(), cache.values(),
                                         out.slice(2, begin, end), options, context());
      begin = end;
    }
    EXPECT_TRUE(is_within(output, exact.output, exact.output_error));
  }
}

TEST_P(AttentionPropertiesTest, threads_and_neighbours_in_the_batch_do_not_change_the_bits) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    AttentionProblem p = random_problem(random);
    if (random.chance(0.5)) p.sinks = random.normals(p.sizes.query_heads);
    SCOPED_TRACE(describe(round, p));
    const AttentionOutputs one = attend(p, context(1));
    const AttentionOutputs many = attend(p, context(3));
    EXPECT_TRUE(same_bits(many.output, one.output));
    EXPECT_TRUE(same_bits(many.weights, one.weights));
    EXPECT_TRUE(same_bits(many.log_sum_exp, one.log_sum_exp));

    for (std::int64_t b = 0; b < p.sizes.batch; ++b) {
      const AttentionOutputs alone = attend(entry_of(p, b), context());
      const AttentionOutputs expected = entry_of(one, p.sizes, b);
      EXPECT_TRUE(same_bits(alone.output, expected.output)) << b;
      EXPECT_TRUE(same_bits(alone.weights, expected.weights)) << b;
    }
  }
}

// The equivalent of torch.nn.MultiheadAttention's add_zero_attn: one more key and value, all zeros.
TEST_P(AttentionPropertiesTest, a_sink_of_0_is_a_key_and_value_of_zeros) {
  Random random;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    AttentionSizes sizes = random_sizes(random);
    AttentionProblem with_sink(sizes, random);
    with_sink.sinks.assign(static_cast<std::size_t>(sizes.query_heads), 0.0F);
    SCOPED_TRACE(describe(round, with_sink));
    ++sizes.num_keys;
    AttentionProblem with_zeros(sizes, random);
    with_zeros.query = with_sink.query;
    const auto add_zeros = [&](const std::vector<float>& x, std::int64_t width) {
      std::vector<float> result;
      const auto head = static_cast<std::ptrdiff_t>((sizes.num_keys - 1) * width);
      for (auto at = x.begin(); at != x.end(); at += head) {
        result.insert(result.end(), at, at + head);
        result.insert(result.end(), static_cast<std::size_t>(width), 0.0F);
      }
      return result;
    };
    with_zeros.key = add_zeros(with_sink.key, sizes.head_dim);
    with_zeros.value = add_zeros(with_sink.value, sizes.value_dim);
    const reference::AttentionResult exact = with_zeros.expected();
    const AttentionOutputs got = attend(with_sink, context());
    EXPECT_TRUE(is_within(got.output, exact.output, exact.output_error));
    EXPECT_TRUE(is_within(got.log_sum_exp, exact.log_sum_exp, exact.log_sum_exp_error));
  }
}

// ---- Bit-identical results, tested with fixed sizes

TEST_P(AttentionPropertiesTest, any_number_of_threads_gives_the_same_bits) {
  Random random;
  AttentionProblem p({.batch = 2,
                      .query_heads = 4,
                      .key_heads = 2,
                      .num_queries = 150,
                      .num_keys = 600,
                      .head_dim = 20,
                      .value_dim = 12},
                     random);
  p.causal = true;
  p.diagonal = Diagonal::bottom_right();
  p.valid_lens = {600, 333};
  const AttentionOutputs one = attend(p, context(1));
  for (const int threads : {2, 3, 5}) {
    const AttentionOutputs many = attend(p, context(threads));
    EXPECT_TRUE(same_bits(many.output, one.output)) << threads;
    EXPECT_TRUE(same_bits(many.weights, one.weights)) << threads;
    EXPECT_TRUE(same_bits(many.scaled_scores, one.scaled_scores)) << threads;
    EXPECT_TRUE(same_bits(many.log_sum_exp, one.log_sum_exp)) << threads;
  }
}

TEST_P(AttentionPropertiesTest, requesting_more_outputs_keeps_the_bits) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.softcap = 4.0F;
  p.causal = true;
  p.diagonal = Diagonal::bottom_right();
  const AttentionOutputs plain = attend(p, context(), {});
  for (const AttentionWants& wants :
       {AttentionWants{.scores = true}, AttentionWants{.weights = true},
        AttentionWants{.log_sum_exp = true}, AttentionWants{true, true, true}}) {
    EXPECT_TRUE(same_bits(attend(p, context(), wants).output, plain.output));
  }
}

TEST_P(AttentionPropertiesTest, a_sequence_has_the_same_bits_alone_and_in_any_batch) {
  Random random;
  AttentionProblem batch({.batch = 5,
                          .query_heads = 4,
                          .key_heads = 2,
                          .num_queries = 61,
                          .num_keys = 300,
                          .head_dim = 20,
                          .value_dim = 12},
                         random);
  batch.valid_lens = {300, 1, 255, 299, 17};
  // NaN and infinities in other batch entries must not change the result.
  std::fill_n(batch.key.begin(), 100, kNaN);
  std::fill_n(batch.value.begin() + 100, 100, kInfinity);
  const AttentionOutputs together = attend(batch, context());
  for (std::int64_t b = 1; b < 5; ++b) {
    const AttentionOutputs alone = attend(entry_of(batch, b), context());
    const AttentionOutputs expected = entry_of(together, batch.sizes, b);
    EXPECT_TRUE(same_bits(alone.output, expected.output)) << b;
    EXPECT_TRUE(same_bits(alone.weights, expected.weights)) << b;
  }
}

TEST_P(AttentionPropertiesTest, padding_at_the_end_keeps_the_bits) {
  Random random;
  AttentionProblem padded({.num_queries = 30, .num_keys = 700, .head_dim = 20, .value_dim = 12},
                          random);
  for (const std::int32_t length : {1, 5, 16, 200, 256, 257, 300, 511}) {
    padded.valid_lens = {length};
    AttentionProblem cut = padded;
    cut.valid_lens.clear();
    cut.sizes.num_keys = length;
    cut.key.resize(static_cast<std::size_t>(length * 20));
    cut.value.resize(static_cast<std::size_t>(length * 12));
    EXPECT_TRUE(same_bits(attend(padded, context()).output, attend(cut, context()).output))
        << length;
  }
}

TEST_P(AttentionPropertiesTest, a_query_has_the_same_bits_whatever_others_there_are) {
  // Computes at least two queries at a time, because a single query is summed in a different order.
  Random random;
  AttentionProblem all({.num_queries = 130, .num_keys = 300, .head_dim = 20, .value_dim = 12},
                       random);
  all.causal = true;
  all.diagonal = Diagonal::bottom_right();
  const AttentionOutputs together = attend(all, context());
  for (const std::int64_t i : {0, 1, 46, 47, 55, 111, 128}) {
    AttentionProblem two = all;
    two.sizes.num_queries = 2;
    two.query = {all.query.begin() + i * 20, all.query.begin() + (i + 2) * 20};
    two.diagonal = Diagonal::offset(300 - 130 + i);
    EXPECT_TRUE(same_bits(attend(two, context()).output, {together.output.begin() + i * 12,
                                                          together.output.begin() + (i + 2) * 12}))
        << i;
  }
}

// ---- Chosen calls

TEST_P(AttentionPropertiesTest, grouped_heads_equal_repeated_heads) {
  Random random;
  AttentionProblem grouped = attn_test::grouped_problem(random);
  AttentionProblem repeated = grouped;
  repeated.sizes.key_heads = 4;
  repeated.key.clear();
  repeated.value.clear();
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 4; ++h) {
      const std::int64_t head = b * 2 + h / 2;
      repeated.key.insert(repeated.key.end(), grouped.key.begin() + head * 300 * 20,
                          grouped.key.begin() + (head + 1) * 300 * 20);
      repeated.value.insert(repeated.value.end(), grouped.value.begin() + head * 300 * 12,
                            grouped.value.begin() + (head + 1) * 300 * 12);
    }
  }
  EXPECT_TRUE(same_bits(attend(grouped, context()).output, attend(repeated, context()).output));
}

TEST_P(AttentionPropertiesTest, shuffled_queries_give_equally_shuffled_outputs) {
  Random random;
  AttentionProblem p({.num_queries = 75, .num_keys = 75, .head_dim = 20, .value_dim = 12}, random);
  std::vector<std::size_t> order(75);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine());
  AttentionProblem shuffled = p;
  for (std::size_t i = 0; i < 75; ++i) {
    std::copy_n(p.query.begin() + static_cast<std::ptrdiff_t>(order[i] * 20), 20,
                shuffled.query.begin() + static_cast<std::ptrdiff_t>(i * 20));
  }
  const AttentionOutputs straight = attend(p, context()), mixed = attend(shuffled, context());
  for (std::size_t i = 0; i < 75; ++i) {
    for (std::size_t c = 0; c < 12; ++c) {
      ASSERT_EQ(mixed.output[i * 12 + c], straight.output[order[i] * 12 + c]);
    }
  }
}

TEST_P(AttentionPropertiesTest, the_order_of_keys_and_values_does_not_matter) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 300, .head_dim = 20, .value_dim = 12}, random);
  const reference::AttentionResult exact = p.expected();
  std::vector<std::size_t> order(300);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine());
  AttentionProblem shuffled = p;
  for (std::size_t j = 0; j < 300; ++j) {
    std::copy_n(p.key.begin() + static_cast<std::ptrdiff_t>(order[j] * 20), 20,
                shuffled.key.begin() + static_cast<std::ptrdiff_t>(j * 20));
    std::copy_n(p.value.begin() + static_cast<std::ptrdiff_t>(order[j] * 12), 12,
                shuffled.value.begin() + static_cast<std::ptrdiff_t>(j * 12));
  }
  EXPECT_TRUE(is_within(attend(shuffled, context()).output, exact.output, exact.output_error));
}

TEST_P(AttentionPropertiesTest, weights_sum_to_one) {
  Random random;
  AttentionProblem p({.num_queries = 20, .num_keys = 600, .head_dim = 8, .value_dim = 1}, random);
  p.causal = true;
  p.diagonal = Diagonal::offset(300);
  const AttentionOutputs got = attend(p, context());
  for (std::size_t i = 0; i < 20; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 600; ++j) sum += got.weights[i * 600 + j];
    EXPECT_NEAR(sum, 1.0, 600 * 0x1p-24);
  }
}

TEST_P(AttentionPropertiesTest, scores_of_ten_thousand_do_not_overflow) {
  Random random;
  for (const float size : {100.0F, 1e4F, 1e6F}) {
    AttentionProblem p({.num_queries = 50, .num_keys = 600, .head_dim = 1, .value_dim = 4}, random);
    p.scale = 1.0F;
    for (float& q : p.query) q = random.chance(0.5) ? 1.0F : -1.0F;
    for (float& k : p.key) k = random.uniform(-size, size);
    const AttentionOutputs got = attend(p, context());
    EXPECT_THAT(got.output,
                ::testing::Each(::testing::Truly([](float x) { return std::isfinite(x); })));
    // Products with ±1 are exact, so the only errors of the weights come from the softmax.
    expect_matches_reference(p, context());
  }
}

TEST_P(AttentionPropertiesTest, growing_scores_rescale_what_was_summed_before) {
  Random random;
  AttentionProblem p({.num_queries = 10, .num_keys = 1300, .head_dim = 1, .value_dim = 3}, random);
  p.scale = 1.0F;
  for (float& q : p.query) q = 1.0F;
  for (std::size_t j = 0; j < 1300; ++j) p.key[j] = static_cast<float>(j) * 0.01F;
  expect_matches_reference(p, context());
  std::reverse(p.key.begin(), p.key.end());
  expect_matches_reference(p, context());
}

TEST_P(AttentionPropertiesTest, a_common_shift_of_the_scores_does_not_matter) {
  Random random;
  AttentionProblem p({.num_queries = 5, .num_keys = 40, .head_dim = 2, .value_dim = 3}, random);
  p.bias_shape = {1};
  p.bias = {-80.0F};
  expect_matches_reference(p, context());
  p.bias = {-1000.0F};
  expect_matches_reference(p, context());
}

}  // namespace
