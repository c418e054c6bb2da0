#include "attn/teaching/relative_skew.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/relative_skew.hpp"
#include "shape.hpp"

namespace {

using attn::RelativeSkewOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using reference::Array;
using reference::Bounded;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The bounds that the header states, computed from the sums of magnitudes in `sums`.
Bounded stated(Bounded sums, std::int64_t depth, double scale = 1) {
  for (double& value : sums.exact.values) value *= scale;
  for (double& bound : sums.error.values) {
    bound *= static_cast<double>(depth + 2) * 6e-8 * std::abs(scale);
  }
  return sums;
}

/// Sets the logits of keys after the query to 0.
Bounded only_past(Bounded logits) {
  const std::int64_t n = logits.exact.size(0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) {
      logits.exact.at({i, j}) = 0;
      logits.error.at({i, j}) = 0;
    }
  }
  return logits;
}

class RelativeSkewTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> skew(const std::vector<float>& query, const Shape& shape,
                          const std::vector<float>& embeddings, const Shape& table,
                          const RelativeSkewOptions& options = {}, int threads = 2) {
    Shape result = shape;
    result.back() = shape[shape.size() - 2];
    std::int64_t count = 1;
    for (const std::int64_t size : result) count *= size;
    std::vector<float> output(static_cast<std::size_t>(count), 7.0F);
    attn::relative_skew({query.data(), std::span<const std::int64_t>(shape)},
                        {embeddings.data(), std::span<const std::int64_t>(table)},
                        {output.data(), std::span<const std::int64_t>(result)}, options,
                        context(threads));
    return output;
  }

  /// Returns the scores of attention over keys that are all 0. The scores consist of the
  /// relative-key term alone.
  std::vector<float> attention_logits(const std::vector<float>& query, const Shape& shape,
                                      const std::vector<float>& table, const Shape& table_shape,
                                      float scale, bool causal) {
    const std::int64_t n = shape[2];
    const std::vector<float> zeros(query.size());
    std::vector<float> output(query.size());
    std::vector<float> scores(static_cast<std::size_t>(shape[0] * shape[1] * n * n));
    const std::span<const std::int64_t> sizes(shape);
    attn::AttentionOptions options;
    options.scale = scale;
    options.relative_keys = {table.data(), std::span<const std::int64_t>(table_shape)};
    if (causal) options.causal = true;
    options.scaled_scores = {scores.data(), {shape[0], shape[1], n, n}};
    attn::scaled_dot_product_attention({query.data(), sizes}, {zeros.data(), sizes},
                                       {zeros.data(), sizes}, {output.data(), sizes}, options,
                                       context());
    return scores;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(RelativeSkewTest);

TEST_P(RelativeSkewTest, is_the_skewing_procedure_for_keys_up_to_the_query) {
  Random random;
  for (const std::int64_t n : {1, 2, 5, 15, 16, 17, 33, 64, 65}) {
    for (const std::int64_t d : {1, 7, 16, 33}) {
      const std::vector<float> query = random.normals(n * d);
      const std::vector<float> embeddings = random.normals(n * d);
      const auto [exact, error] = stated(
          only_past(reference::relative_skew(Array({n, d}, query), Array({n, d}, embeddings))), d);
      EXPECT_TRUE(is_within(skew(query, {n, d}, embeddings, {n, d}), exact, error))
          << n << " queries of width " << d;
    }
  }
}

TEST_P(RelativeSkewTest, takes_the_nearest_of_more_embeddings_than_queries) {
  Random random;
  const std::vector<float> query = random.normals(20 * 8);
  const std::vector<float> embeddings = random.normals(50 * 8);
  EXPECT_TRUE(
      same_bits(skew(query, {20, 8}, {embeddings.begin() + 30 * 8, embeddings.end()}, {20, 8}),
                skew(query, {20, 8}, embeddings, {50, 8})));
}

TEST_P(RelativeSkewTest, bidirectional_has_embeddings_for_both_sides) {
  Random random;
  for (const std::int64_t n : {1, 2, 16, 17, 40}) {
    for (const std::int64_t more : {0, 3}) {
      const std::int64_t count = 2 * (n + more) - 1;
      const std::vector<float> query = random.normals(n * 9);
      const std::vector<float> table = random.normals(count * 9);
      const auto [exact, error] =
          stated(reference::shaw_logits(Array({n, 9}, query), Array({count, 9}, table)), 9, -0.3F);
      EXPECT_TRUE(
          is_within(skew(query, {n, 9}, table, {count, 9}, {.bidirectional = true, .scale = -0.3F}),
                    exact, error))
          << n << " queries, " << count << " embeddings";
    }
  }
}

TEST_P(RelativeSkewTest, relative_keys_of_attention_give_the_same_numbers) {
  Random random;
  for (const bool per_head : {false, true}) {
    for (const std::int64_t n : {1, 6, 40, 70}) {
      constexpr std::int64_t kHeads = 3;
      constexpr std::int64_t kWidth = 10;
      const Shape shape{2, kHeads, n, kWidth};
      const std::vector<float> query = random.normals(2 * kHeads * n * kWidth);
      const Shape skewed_shape = per_head ? Shape{kHeads, n, kWidth} : Shape{n, kWidth};
      const Shape shaw_shape =
          per_head ? Shape{kHeads, 2 * n - 1, kWidth} : Shape{2 * n - 1, kWidth};
      const std::int64_t tables = per_head ? kHeads : 1;
      const std::vector<float> embeddings = random.normals(tables * n * kWidth);
      std::vector<float> table(static_cast<std::size_t>(tables * (2 * n - 1) * kWidth), 7.0F);
      attn::relative_keys_of_skew({embeddings.data(), std::span<const std::int64_t>(skewed_shape)},
                                  {table.data(), std::span<const std::int64_t>(shaw_shape)});

      const float scale = 0.4F;
      const std::vector<float> skewed =
          skew(query, shape, embeddings, skewed_shape, {.scale = scale});
      const std::vector<float> two_sided =
          skew(query, shape, table, shaw_shape, {.bidirectional = true, .scale = scale});
      const std::vector<float> in_attention =
          attention_logits(query, shape, table, shaw_shape, scale, false);
      for (std::int64_t head = 0; head < 2 * kHeads; ++head) {
        const auto row = [&](std::int64_t i) { return head * n * n + i * n; };
        const Array q({n, kWidth}, std::vector<float>(query.begin() + head * n * kWidth,
                                                      query.begin() + (head + 1) * n * kWidth));
        const std::int64_t which = per_head ? head % kHeads : 0;
        const Array t({2 * n - 1, kWidth},
                      std::vector<float>(table.begin() + which * (2 * n - 1) * kWidth,
                                         table.begin() + (which + 1) * (2 * n - 1) * kWidth));
        const auto [exact, error] = stated(reference::shaw_logits(q, t), kWidth, double{scale});
        const auto part = [&](const std::vector<float>& all) {
          return std::vector<float>(all.begin() + row(0), all.begin() + row(n));
        };
        EXPECT_TRUE(is_within(part(skewed), exact, error));
        EXPECT_TRUE(is_within(part(two_sided), exact, error));
        EXPECT_TRUE(is_within(part(in_attention), exact, error));
      }
    }
  }
}

TEST_P(RelativeSkewTest, attention_with_skewed_logits_as_a_bias_is_attention_with_relative_keys) {
  Random random;
  const Shape shape{1, 2, 37, 12};
  const std::vector<float> q = random.normals(2 * 37 * 12);
  const std::vector<float> k = random.normals(2 * 37 * 12);
  const std::vector<float> v = random.normals(2 * 37 * 12);
  const std::vector<float> embeddings = random.normals(37 * 12);
  std::vector<float> table(73 * 12);
  attn::relative_keys_of_skew({embeddings.data(), {37, 12}}, {table.data(), {73, 12}});
  const float scale = 1 / std::sqrt(12.0F);
  const std::vector<float> bias = skew(q, shape, embeddings, {37, 12}, {.scale = scale});
  const std::span<const std::int64_t> sizes(shape);
  const auto attend = [&](attn::AttentionOptions options) {
    options.causal = true;
    std::vector<float> output(q.size());
    attn::scaled_dot_product_attention({q.data(), sizes}, {k.data(), sizes}, {v.data(), sizes},
                                       {output.data(), sizes}, options, context());
    return output;
  };
  attn::AttentionOptions with_bias;
  with_bias.bias = {bias.data(), {1, 2, 37, 37}};
  attn::AttentionOptions with_keys;
  with_keys.relative_keys = {table.data(), {73, 12}};
  const std::vector<float> a = attend(with_bias);
  const std::vector<float> b = attend(with_keys);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST_P(RelativeSkewTest, any_strides_ranks_and_threads_give_the_same_bits) {
  Random random;
  const std::vector<float> query = random.normals(2 * 3 * 40 * 9);
  const std::vector<float> embeddings = random.normals(3 * 40 * 9);
  const Shape shape{2, 3, 40, 9};
  const std::vector<float> expected = skew(query, shape, embeddings, {3, 40, 9}, {}, 1);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(expected, skew(query, shape, embeddings, {3, 40, 9}, {}, threads)));
  }
  EXPECT_TRUE(same_bits({expected.begin(), expected.begin() + 1600},
                        skew({query.begin(), query.begin() + 360}, {1, 40, 9},
                             {embeddings.begin(), embeddings.begin() + 360}, {1, 40, 9})));
  for (const Layout layout :
       {Layout::kHeadsInside, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const FloatTensor q(shape, query, layout);
    const FloatTensor e({3, 40, 9}, embeddings, layout);
    auto output = FloatTensor::filled({2, 3, 40, 40}, 7.0F, layout);
    attn::relative_skew(q.view(), e.view(), output.view(), {}, context());
    EXPECT_TRUE(same_bits(expected, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

TEST_P(RelativeSkewTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> q(2 * 30 * 8);
  std::vector<float> output(2 * 30 * 30);
  attn_test::expect_no_allocations([&] {
    attn::relative_skew({q.data(), {2, 30, 8}}, {q.data(), {40, 8}}, {output.data(), {2, 30, 30}},
                        {}, context());
  });
}

TEST_P(RelativeSkewTest, inputs_without_queries_are_accepted) {
  attn::relative_skew({nullptr, {0, 4}}, {nullptr, {0, 4}}, {nullptr, {0, 0}}, {}, context());
}

TEST(RelativeSkewErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(256, 7.0F);
  float* p = memory.data();
  const auto call = [&](const Shape& query, const Shape& embeddings, const Shape& output,
                        const RelativeSkewOptions& options = {}) {
    return error_of([&] {
      attn::relative_skew({p, std::span<const std::int64_t>(query)},
                          {p, std::span<const std::int64_t>(embeddings)},
                          {p + 128, std::span<const std::int64_t>(output)}, options);
    });
  };
  EXPECT_EQ(call({4}, {4, 3}, {4, 4}),
            "shape_mismatch: query: got shape (4), needs (N, D), (B, N, D) or (B, H, N, D)");
  EXPECT_EQ(call({4, 3}, {3, 3}, {4, 4}),
            "shape_mismatch: embeddings: got shape (3, 3), needs shape (L, 3) or (1, L, 3) with L "
            "at least 4, the number of queries");
  EXPECT_THAT(call({4, 3}, {4, 2}, {4, 4}), HasSubstr("embeddings: got shape (4, 2)"));
  EXPECT_THAT(call({1, 2, 4, 3}, {3, 4, 3}, {1, 2, 4, 4}),
              HasSubstr("needs shape (L, 3) or (2, L, 3)"));
  EXPECT_THAT(call({4, 3}, {8, 3}, {4, 4}, {.bidirectional = true}),
              HasSubstr("embeddings: got shape (8, 3), needs shape (2L - 1, 3)"));
  EXPECT_THAT(call({4, 3}, {5, 3}, {4, 4}, {.bidirectional = true}),
              HasSubstr("embeddings: got shape (5, 3)"));
  EXPECT_EQ(call({4, 3}, {4, 3}, {4, 3}),
            "shape_mismatch: output: got shape (4, 3), needs the shape of query with 4 columns");
  EXPECT_THAT(call({4, 3}, {4, 3}, {4, 4}, {.scale = std::nanf("")}),
              StartsWith("invalid_argument: scale: got nan"));
  EXPECT_EQ(error_of([&] { attn::relative_skew({nullptr, {2, 2}}, {p, {2, 2}}, {p, {2, 2}}); }),
            "invalid_argument: query: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { attn::relative_skew({p, {2, 2}}, {nullptr, {2, 2}}, {p, {2, 2}}); }),
            "invalid_argument: embeddings: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { attn::relative_skew({p, {2, 2}}, {p, {2, 2}}, {nullptr, {2, 2}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_EQ(
      error_of([&] { attn::relative_keys_of_skew({p, {2}}, {p, {3}}); }),
      "shape_mismatch: embeddings: got shape (2), needs (L, D) or (H, L, D) with L at least 1");
  EXPECT_EQ(error_of([&] { attn::relative_keys_of_skew({p, {4, 2}}, {p, {8, 2}}); }),
            "shape_mismatch: relative_keys: got shape (8, 2), needs shape (7, 2)");
  EXPECT_EQ(error_of([&] { attn::relative_keys_of_skew({p, {3, 4, 2}}, {p, {2, 7, 2}}); }),
            "shape_mismatch: relative_keys: got shape (2, 7, 2), needs shape (3, 7, 2)");
  EXPECT_EQ(error_of([&] { attn::relative_keys_of_skew({p, {4, 2}}, {nullptr, {7, 2}}); }),
            "invalid_argument: relative_keys: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { attn::relative_keys_of_skew({nullptr, {4, 2}}, {p, {7, 2}}); }),
            "invalid_argument: embeddings: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
