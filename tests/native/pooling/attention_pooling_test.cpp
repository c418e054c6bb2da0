#include "attn/pooling/attention_pooling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/attention_pooling.hpp"

namespace {

using attn::AdditiveAttention;
using attn::AttentionPoolingOptions;
using attn::ScoringFunction;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using Score = reference::Pooling::Score;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr Score kScores[] = {Score::kScaledDot,    Score::kGaussian, Score::kBoxcar,
                             Score::kEpanechnikov, Score::kAverage,  Score::kAdditive};

/// A batch of sequences with all inputs and outputs of pooling.
struct Case {
  Score score = Score::kScaledDot;
  float parameter = 1;
  bool hard = false;
  std::int64_t batch = 1, queries = 1, keys = 1, dim = 1, value_dim = 1, hidden = 1;
  std::vector<float> query, key, value;
  std::vector<float> query_weight, key_weight, score_weight;
  std::vector<std::uint8_t> mask;  ///< (B, Nq, Nk), or none
  std::vector<std::int32_t> lens;  ///< (B), or none
  Layout layout = Layout::kContiguous;

  Case(Score score_, std::int64_t batch_, std::int64_t queries_, std::int64_t keys_,
       std::int64_t dim_, std::int64_t value_dim_, Random& random)
      : score(score_),
        batch(batch_),
        queries(queries_),
        keys(keys_),
        dim(dim_),
        value_dim(value_dim_),
        hidden(dim_ + 3) {
    query = random.normals(batch * queries * dim);
    key = random.normals(batch * keys * dim);
    value = random.normals(batch * keys * value_dim);
    query_weight = random.normals(hidden * dim, 0.5F);
    key_weight = random.normals(hidden * dim, 0.5F);
    score_weight = random.normals(hidden);
    parameter = score == Score::kScaledDot ? 0.7F : 1.5F * std::sqrt(static_cast<float>(dim));
    // A boxcar kernel jumps at its edge, where the last bit of a distance decides the result, so no
    // distance may be close to the edge.
    while (score == Score::kBoxcar && has_pair_at(parameter)) parameter *= 1.001F;
  }

  /// True if the distance between some query and some key is close to `distance`.
  bool has_pair_at(double distance) const {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < queries; ++i) {
        for (std::int64_t j = 0; j < keys; ++j) {
          double square = 0;
          for (std::int64_t d = 0; d < dim; ++d) {
            const double difference =
                static_cast<double>(query[static_cast<std::size_t>((b * queries + i) * dim + d)]) -
                static_cast<double>(key[static_cast<std::size_t>((b * keys + j) * dim + d)]);
            square += difference * difference;
          }
          if (std::abs(std::sqrt(square) / distance - 1) < 1e-5) return true;
        }
      }
    }
    return false;
  }
};

struct Result {
  std::vector<float> output, scores, weights;
};

ScoringFunction scoring_of(const Case& c) {
  switch (c.score) {
    case Score::kScaledDot:
      return ScoringFunction::scaled_dot(c.parameter);
    case Score::kGaussian:
      return ScoringFunction::gaussian(c.parameter);
    case Score::kBoxcar:
      return ScoringFunction::boxcar(c.parameter);
    case Score::kEpanechnikov:
      return ScoringFunction::epanechnikov(c.parameter);
    default:
      return ScoringFunction::average();
  }
}

AdditiveAttention additive_of(const Case& c) {
  AdditiveAttention layer(c.dim, c.dim, c.hidden);
  layer.set_parameter("W_q.weight", {c.query_weight.data(), {c.hidden, c.dim}});
  layer.set_parameter("W_k.weight", {c.key_weight.data(), {c.hidden, c.dim}});
  layer.set_parameter("w_v.weight", {c.score_weight.data(), {1, c.hidden}});
  return layer;
}

Result run(const Case& c, attn::Context& context, bool with_scores = true) {
  const FloatTensor query({c.batch, c.queries, c.dim}, c.query, c.layout);
  const FloatTensor key({c.batch, c.keys, c.dim}, c.key, c.layout);
  const FloatTensor value({c.batch, c.keys, c.value_dim}, c.value, c.layout);
  FloatTensor output = FloatTensor::filled({c.batch, c.queries, c.value_dim}, 77, c.layout);
  FloatTensor scores, weights;
  AttentionPoolingOptions options{.hard = c.hard};
  if (with_scores) {
    scores = FloatTensor::filled({c.batch, c.queries, c.keys}, 77, c.layout);
    weights = FloatTensor::filled({c.batch, c.queries, c.keys}, 77, c.layout);
    options.scores = scores.view();
    options.weights = weights.view();
  }
  if (!c.mask.empty()) options.mask = {c.mask.data(), {c.batch, c.queries, c.keys}};
  if (!c.lens.empty()) options.valid_lens = {c.lens.data(), {c.batch}};
  if (c.score == Score::kAdditive) {
    additive_of(c).forward(query.view(), key.view(), value.view(), output.view(), options, context);
  } else {
    attn::attention_pooling(query.view(), key.view(), value.view(), output.view(), scoring_of(c),
                            options, context);
  }
  EXPECT_TRUE(output.gaps_are_untouched());
  if (with_scores) {
    EXPECT_TRUE(scores.gaps_are_untouched());
    EXPECT_TRUE(weights.gaps_are_untouched());
  }
  return {output.values(), scores.values(), weights.values()};
}

template <class T>
std::vector<T> part(const std::vector<T>& all, std::int64_t i, std::int64_t size) {
  return {all.begin() + i * size, all.begin() + (i + 1) * size};
}

reference::PoolingResult expected(const Case& c, std::int64_t b) {
  using reference::Array;
  reference::Pooling p;
  p.score = c.score;
  p.parameter = c.parameter;
  p.hard = c.hard;
  p.query = Array({c.queries, c.dim}, part(c.query, b, c.queries * c.dim));
  p.key = Array({c.keys, c.dim}, part(c.key, b, c.keys * c.dim));
  p.value = Array({c.keys, c.value_dim}, part(c.value, b, c.keys * c.value_dim));
  p.query_weight = Array({c.hidden, c.dim}, c.query_weight);
  p.key_weight = Array({c.hidden, c.dim}, c.key_weight);
  p.score_weight = Array({1, c.hidden}, c.score_weight);
  p.attends = [&c, b](std::int64_t i, std::int64_t j) {
    const bool in_mask =
        c.mask.empty() || c.mask[static_cast<std::size_t>((b * c.queries + i) * c.keys + j)] != 0;
    return in_mask && (c.lens.empty() || j < c.lens[static_cast<std::size_t>(b)]);
  };
  return reference::attention_pooling(p);
}

void expect_right(const Case& c, attn::Context& context) {
  SCOPED_TRACE(std::string("score ") + std::to_string(static_cast<int>(c.score)) + ", " +
               std::to_string(c.queries) + " queries, " + std::to_string(c.keys) + " keys, width " +
               std::to_string(c.dim) + " → " + std::to_string(c.value_dim));
  const Result got = run(c, context);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const reference::PoolingResult want = expected(c, b);
    EXPECT_TRUE(
        is_within(part(got.scores, b, c.queries * c.keys), want.scores.exact, want.scores.error));
    EXPECT_TRUE(is_within(part(got.weights, b, c.queries * c.keys), want.weights.exact,
                          want.weights.error));
    EXPECT_TRUE(is_within(part(got.output, b, c.queries * c.value_dim), want.output.exact,
                          want.output.error));
  }
}

using AttentionPoolingTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionPoolingTest);

TEST_P(AttentionPoolingTest, matches_the_reference_at_every_size) {
  Random random;
  for (const Score score : kScores) {
    for (const std::int64_t keys : {1, 2, 15, 16, 17, 67, 255, 256, 257, 531}) {
      expect_right(Case(score, 1, 3, keys, 5, 7, random), context());
    }
    for (const std::int64_t queries : {1, 7, 8, 9, 17}) {
      expect_right(Case(score, 2, queries, 19, 4, 3, random), context());
    }
    for (const std::int64_t dim : {1, 2, 16, 33}) {
      for (const std::int64_t value_dim : {1, 4, 15, 16, 17, 35}) {
        expect_right(Case(score, 1, 2, 21, dim, value_dim, random), context());
      }
    }
  }
}

TEST_P(AttentionPoolingTest, masks_and_lengths_exclude) {
  Random random;
  for (const Score score : kScores) {
    for (const bool hard : {false, true}) {
      for (const std::int64_t keys : {1, 20, 300}) {
        Case c(score, 3, 5, keys, 3, 4, random);
        c.hard = hard;
        for (std::int64_t i = 0; i < c.batch * c.queries * keys; ++i) {
          c.mask.push_back(random.chance(0.6) ? 1 : 0);
        }
        c.lens = {0, static_cast<std::int32_t>(keys), static_cast<std::int32_t>(keys / 2)};
        expect_right(c, context());
      }
    }
  }
}

TEST_P(AttentionPoolingTest, lengths_may_be_given_per_query) {
  Random random;
  const std::vector<std::int32_t> lens{0, 1, 5, 9, 3, 2};
  for (const Score score : kScores) {
    Case c(score, 2, 3, 9, 2, 2, random);
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = 0; j < 9; ++j) c.mask.push_back(j < lens[static_cast<std::size_t>(i)]);
    }
    const Result masked = run(c, context());
    std::vector<float> output(2 * 3 * 2);
    const AttentionPoolingOptions options{.valid_lens = {lens.data(), {2, 3}}};
    const attn::ConstTensor q(c.query.data(), {2, 3, 2}), k(c.key.data(), {2, 9, 2}),
        v(c.value.data(), {2, 9, 2});
    if (score == Score::kAdditive) {
      additive_of(c).forward(q, k, v, {output.data(), {2, 3, 2}}, options, context());
    } else {
      attn::attention_pooling(q, k, v, {output.data(), {2, 3, 2}}, scoring_of(c), options,
                              context());
    }
    EXPECT_TRUE(same_bits(output, masked.output));
  }
}

TEST_P(AttentionPoolingTest, a_query_with_nothing_to_attend_to_gives_zeros) {
  Random random;
  for (const Score score : kScores) {
    for (const bool hard : {false, true}) {
      Case c(score, 1, 2, 5, 3, 4, random);
      c.hard = hard;
      c.lens = {0};
      const Result got = run(c, context());
      EXPECT_THAT(got.output, Each(0.0F));
      EXPECT_THAT(got.weights, Each(0.0F));
      const bool softmax =
          score == Score::kScaledDot || score == Score::kGaussian || score == Score::kAdditive;
      EXPECT_THAT(got.scores, Each(softmax ? -kInfinity : 0.0F));
      Case none(score, 1, 2, 0, 3, 4, random);
      none.hard = hard;
      EXPECT_THAT(run(none, context()).output, Each(0.0F));
    }
  }
}

TEST_P(AttentionPoolingTest, excluded_keys_and_values_are_not_read) {
  Random random;
  for (const Score score : kScores) {
    for (const bool hard : {false, true}) {
      Case c(score, 1, 4, 30, 3, 4, random);
      c.hard = hard;
      for (std::int64_t i = 0; i < 4 * 30; ++i) c.mask.push_back(i % 30 % 3 != 1 ? 1 : 0);
      c.lens = {25};
      const Result clean = run(c, context());
      for (std::int64_t j = 0; j < 30; ++j) {
        if (j % 3 != 1 && j < 25) continue;
        for (std::int64_t d = 0; d < 3; ++d) {
          c.key[static_cast<std::size_t>(j * 3 + d)] = j % 2 == 0 ? kNaN : kInfinity;
        }
        for (std::int64_t d = 0; d < 4; ++d) {
          c.value[static_cast<std::size_t>(j * 4 + d)] = j % 2 == 0 ? kInfinity : kNaN;
        }
      }
      const Result got = run(c, context());
      EXPECT_TRUE(same_bits(got.output, clean.output));
      EXPECT_TRUE(same_bits(got.weights, clean.weights));
      EXPECT_TRUE(same_bits(got.scores, clean.scores));
    }
  }
}

TEST_P(AttentionPoolingTest, nan_in_an_attended_key_or_value_reaches_the_output) {
  Random random;
  for (const Score score : kScores) {
    if (score == Score::kAverage) continue;
    for (const bool hard : {false, true}) {
      Case c(score, 1, 3, 300, 2, 5, random);
      c.parameter = 100;
      c.hard = hard;
      c.key[280 * 2] = kNaN;
      const Result got = run(c, context());
      for (const float value : got.output) EXPECT_TRUE(std::isnan(value));
    }
    Case c(score, 1, 3, 300, 2, 5, random);
    c.query[2] = kNaN;
    const Result got = run(c, context());
    for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(std::isnan(got.output[i]), i / 5 == 1) << i;
  }
  Case c(Score::kAverage, 1, 2, 3, 1, 2, random);
  c.value[3] = kNaN;
  const Result got = run(c, context());
  EXPECT_FALSE(std::isnan(got.output[0]));
  EXPECT_TRUE(std::isnan(got.output[1]));
}

TEST_P(AttentionPoolingTest, values_outside_a_kernel_s_edge_are_not_read) {
  const std::vector<float> query{0}, key{0.5F, 3, -0.25F, 1}, value{1, kNaN, 3, kInfinity};
  for (const ScoringFunction scoring :
       {ScoringFunction::boxcar(), ScoringFunction::epanechnikov()}) {
    float output = 77;
    attn::attention_pooling({query.data(), {1, 1}}, {key.data(), {4, 1}}, {value.data(), {4, 1}},
                            {&output, {1, 1}}, scoring, {}, context());
    const bool boxcar = scoring.kind() == ScoringFunction::Kind::kBoxcar;
    EXPECT_NEAR(output, boxcar ? 2.0 : (0.5 + 0.75 * 3) / 1.25, 1e-6);
  }
}

TEST_P(AttentionPoolingTest, the_first_of_several_best_keys_wins) {
  const std::vector<float> query{1, 0}, key{2, 5, 3, 7, 3, 1, 3, 9}, value{10, 20, 30, 40};
  std::vector<float> output(1, 77), weights(4, 77);
  attn::attention_pooling({query.data(), {1, 2}}, {key.data(), {4, 2}}, {value.data(), {4, 1}},
                          {output.data(), {1, 1}}, ScoringFunction::scaled_dot(),
                          {.hard = true, .weights = {weights.data(), {1, 4}}}, context());
  EXPECT_THAT(output, ElementsAre(20.0F));
  EXPECT_THAT(weights, ElementsAre(0.0F, 1.0F, 0.0F, 0.0F));
}

TEST_P(AttentionPoolingTest, a_gaussian_far_from_all_keys_picks_the_nearest) {
  const std::vector<float> query{1000}, key{0, 2, 1}, value{1, 2, 3};
  float output = 0;
  attn::attention_pooling({query.data(), {1, 1}}, {key.data(), {3, 1}}, {value.data(), {3, 1}},
                          {&output, {1, 1}}, ScoringFunction::gaussian(), {}, context());
  EXPECT_EQ(output, 2.0F);
}

TEST_P(AttentionPoolingTest, any_number_of_threads_and_any_batch_gives_the_same_bits) {
  Random random;
  for (const Score score : kScores) {
    const Case c(score, 3, 11, 290, 6, 19, random);
    const Result all = run(c, context(1));
    const Result two = run(c, context(2));
    EXPECT_TRUE(same_bits(two.output, all.output));
    EXPECT_TRUE(same_bits(two.weights, all.weights));
    EXPECT_TRUE(same_bits(run(c, context(), false).output, all.output));
    Case one = c;
    one.batch = 1;
    one.query = part(c.query, 1, 11 * 6);
    one.key = part(c.key, 1, 290 * 6);
    one.value = part(c.value, 1, 290 * 19);
    EXPECT_TRUE(same_bits(run(one, context()).output, part(all.output, 1, 11 * 19)));
    // A single query takes a different path through scaled dot-product attention.
    if (score == Score::kScaledDot) continue;
    one.queries = 1;
    one.query = part(one.query, 10, 6);
    EXPECT_TRUE(same_bits(run(one, context(), false).output, part(all.output, 21, 19)));
  }
}

TEST_P(AttentionPoolingTest, every_layout_gives_the_same_bits) {
  Random random;
  for (const Score score : kScores) {
    Case c(score, 2, 5, 20, 6, 19, random);
    const Result contiguous = run(c, context());
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      c.layout = layout;
      const Result got = run(c, context());
      EXPECT_TRUE(same_bits(got.output, contiguous.output));
      EXPECT_TRUE(same_bits(got.scores, contiguous.scores));
      EXPECT_TRUE(same_bits(got.weights, contiguous.weights));
    }
  }
}

TEST_P(AttentionPoolingTest, tensors_of_rank_2_are_one_sequence) {
  Random random;
  const Case c(Score::kAdditive, 1, 4, 6, 3, 2, random);
  const Result expected = run(c, context());
  std::vector<float> output(8), scores(24), weights(24);
  additive_of(c).forward({c.query.data(), {4, 3}}, {c.key.data(), {6, 3}}, {c.value.data(), {6, 2}},
                         {output.data(), {4, 2}},
                         {.scores = {scores.data(), {4, 6}}, .weights = {weights.data(), {4, 6}}},
                         context());
  EXPECT_TRUE(same_bits(output, expected.output));
  EXPECT_TRUE(same_bits(scores, expected.scores));
  EXPECT_TRUE(same_bits(weights, expected.weights));
}

TEST_P(AttentionPoolingTest, projected_keys_give_the_same_bits) {
  Random random;
  const Case c(Score::kAdditive, 2, 4, 30, 3, 2, random);
  const Result expected = run(c, context());
  const AdditiveAttention layer = additive_of(c);
  std::vector<float> projected(static_cast<std::size_t>(2 * 30 * c.hidden)), output(2 * 4 * 2);
  layer.project_keys({c.key.data(), {2, 30, 3}}, {projected.data(), {2, 30, c.hidden}}, context());
  layer.forward_projected({c.query.data(), {2, 4, 3}}, {projected.data(), {2, 30, c.hidden}},
                          {c.value.data(), {2, 30, 2}}, {output.data(), {2, 4, 2}}, {}, context());
  EXPECT_TRUE(same_bits(output, expected.output));
}

TEST_P(AttentionPoolingTest, weights_sum_to_one_and_outputs_stay_in_the_hull) {
  Random random;
  for (const Score score : kScores) {
    const Case c(score, 2, 5, 77, 3, 4, random);
    const Result got = run(c, context());
    for (std::int64_t row = 0; row < 10; ++row) {
      double sum = 0;
      for (std::int64_t j = 0; j < 77; ++j) {
        const float weight = got.weights[static_cast<std::size_t>(row * 77 + j)];
        EXPECT_GE(weight, 0.0F);
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
      for (std::int64_t d = 0; d < 4; ++d) {
        float low = kInfinity, high = -kInfinity;
        for (std::int64_t j = 0; j < 77; ++j) {
          const float v = c.value[static_cast<std::size_t>((row / 5 * 77 + j) * 4 + d)];
          low = std::min(low, v);
          high = std::max(high, v);
        }
        const float out = got.output[static_cast<std::size_t>(row * 4 + d)];
        EXPECT_GE(out, low - 1e-5F);
        EXPECT_LE(out, high + 1e-5F);
      }
    }
  }
}

TEST_P(AttentionPoolingTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const Case c(Score::kAdditive, 2, 9, 300, 4, 5, random);
  const AdditiveAttention layer = additive_of(c);
  std::vector<float> output(2 * 9 * 5);
  attn_test::expect_no_allocations([&] {
    layer.forward({c.query.data(), {2, 9, 4}}, {c.key.data(), {2, 300, 4}},
                  {c.value.data(), {2, 300, 5}}, {output.data(), {2, 9, 5}}, {}, context());
  });
}

// ---- Parameters and errors

TEST(AdditiveAttentionTest, parameters_have_d2l_s_names) {
  AdditiveAttention layer(3, 4, 5);
  EXPECT_THAT(layer.parameter_names(), ElementsAre("W_k.weight", "W_q.weight", "w_v.weight"));
  EXPECT_THAT(layer.parameter("W_k.weight").shape(), ElementsAre(5, 4));
  EXPECT_THAT(layer.parameter("W_q.weight").shape(), ElementsAre(5, 3));
  EXPECT_THAT(layer.parameter("w_v.weight").shape(), ElementsAre(1, 5));
  const std::vector<float> x(20);
  EXPECT_EQ(error_of([&] { layer.set_parameter("w_v.bias", {x.data(), {1}}); }),
            "not_found: name: got \"w_v.bias\", needs one of: W_k.weight, W_q.weight, w_v.weight");
  EXPECT_EQ(error_of([&] { layer.set_parameter("w_v.weight", {x.data(), {5}}); }),
            "shape_mismatch: w_v.weight: got shape (5), needs shape (1, 5)");
}

TEST(AttentionPoolingErrorTest, sizes_of_the_additive_layer) {
  EXPECT_EQ(error_of([] { AdditiveAttention(0, 1, 1); }),
            "invalid_argument: query_dim: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { AdditiveAttention(1, -1, 1); }),
            "invalid_argument: key_dim: got -1, needs 1 or more");
  EXPECT_EQ(error_of([] { AdditiveAttention(1, 1, 0); }),
            "invalid_argument: num_hiddens: got 0, needs 1 or more");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(attn_test::error_or_bad_alloc([] { AdditiveAttention(kHuge, 1, kHuge); }),
              ::testing::AnyOf(::testing::StartsWith("size_overflow: W_q.weight: "),
                               ::testing::StartsWith("size_overflow: W_k.weight: "), "bad_alloc"));
}

TEST(AttentionPoolingErrorTest, shapes) {
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape query, Shape key, Shape value, Shape output) {
    return error_of([&] {
      attn::attention_pooling({x.data(), query}, {x.data(), key}, {x.data(), value},
                              {y.data(), output}, ScoringFunction::gaussian());
    });
  };
  EXPECT_EQ(error({3}, {4, 2}, {4, 5}, {3, 5}),
            "shape_mismatch: query: got shape (3), needs rank 2 (N, D) or 3 (B, N, D)");
  EXPECT_EQ(error({3, 2}, {4, 3}, {4, 5}, {3, 5}),
            "shape_mismatch: key: got shape (4, 3), needs shape (any, 2)");
  EXPECT_EQ(error({2, 3, 2}, {1, 4, 2}, {2, 4, 5}, {2, 3, 5}),
            "shape_mismatch: key: got shape (1, 4, 2), needs shape (2, any, 2)");
  EXPECT_EQ(error({3, 2}, {4, 2}, {3, 5}, {3, 5}),
            "shape_mismatch: value: got shape (3, 5), needs shape (4, any)");
  EXPECT_EQ(error({3, 2}, {4, 2}, {4, 5}, {3, 4}),
            "shape_mismatch: output: got shape (3, 4), needs shape (3, 5)");
  const AdditiveAttention layer(2, 3, 4);
  EXPECT_EQ(error_of([&] {
              layer.forward({x.data(), {1, 2}}, {x.data(), {1, 2}}, {x.data(), {1, 2}},
                            {y.data(), {1, 2}});
            }),
            "shape_mismatch: key: got shape (1, 2), needs shape (any, 3)");
  EXPECT_EQ(error_of([&] { layer.project_keys({x.data(), {1, 3}}, {y.data(), {1, 3}}); }),
            "shape_mismatch: projected: got shape (1, 3), needs shape (1, 4)");
  EXPECT_EQ(error_of([&] { layer.project_keys({x.data(), {1, 2, 2}}, {y.data(), {1, 2, 4}}); }),
            "shape_mismatch: key: got shape (1, 2, 2), needs shape (any, any, 3)");
  EXPECT_THAT(y, Each(5.0F));
}

TEST(AttentionPoolingErrorTest, options) {
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  const auto error = [&](const ScoringFunction& scoring, const AttentionPoolingOptions& options) {
    return error_of([&] {
      attn::attention_pooling({x.data(), {2, 3, 2}}, {x.data(), {2, 4, 2}}, {x.data(), {2, 4, 5}},
                              {y.data(), {2, 3, 5}}, scoring, options);
    });
  };
  EXPECT_EQ(error(ScoringFunction::gaussian(0), {}),
            "invalid_argument: width: got 0, needs a number between 1e-18 and 1e18");
  EXPECT_EQ(error(ScoringFunction::boxcar(-1), {}),
            "invalid_argument: width: got -1, needs a number between 1e-18 and 1e18");
  EXPECT_EQ(error(ScoringFunction::epanechnikov(kNaN), {}),
            "invalid_argument: width: got nan, needs a number between 1e-18 and 1e18");
  EXPECT_EQ(error(ScoringFunction::scaled_dot(kInfinity), {}),
            "invalid_argument: scale: got inf, needs a finite number");
  const std::vector<std::int32_t> lens{2, 5, 0, 0, 0, -1};
  EXPECT_EQ(error(ScoringFunction::average(), {.valid_lens = {lens.data(), {2}}}),
            "invalid_argument: valid_lens: got 5, needs a length from 0 to 4, the number of keys");
  EXPECT_EQ(error(ScoringFunction::average(), {.valid_lens = {lens.data() + 2, {2, 2}}}),
            "shape_mismatch: valid_lens: got shape (2, 2), needs shape (2) or (2, 3)");
  EXPECT_EQ(error(ScoringFunction::average(), {.valid_lens = {lens.data() + 2, {4}}}),
            "shape_mismatch: valid_lens: got shape (4), needs shape (2) or (2, 3)");
  const std::vector<std::uint8_t> mask(24, 1);
  EXPECT_EQ(error(ScoringFunction::average(), {.mask = {mask.data(), {3, 3}}}),
            "shape_mismatch: mask: got shape (3, 3), needs a shape that broadcasts to (2, 3, 4)");
  EXPECT_EQ(error(ScoringFunction::average(), {.scores = {y.data(), {3, 4}}}),
            "shape_mismatch: scores: got shape (3, 4), needs shape (2, 3, 4)");
  EXPECT_EQ(error(ScoringFunction::average(), {.weights = {y.data(), {2, 4, 4}}}),
            "shape_mismatch: weights: got shape (2, 4, 4), needs shape (2, 3, 4)");
  EXPECT_EQ(error(ScoringFunction::average(), {.weights = {nullptr, {2, 3, 4}}}),
            "invalid_argument: weights: got a null pointer, needs data");
  EXPECT_THAT(y, Each(5.0F));
}

}  // namespace
