// Compares the gradients of scaled_dot_product_attention with the reference.

#include "attn/training/attention_backward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attention/attention_problem.hpp"
#include "attn/positions/alibi.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "reference/attention.hpp"

namespace {

using attn::Diagonal;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::entry_of;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

using AttentionBackwardTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionBackwardTest);

struct Gradients {
  std::vector<float> query, key, value, scores, weights, bias, alibi_slopes, t5_table,
      relative_keys, relative_values, sinks;
};

constexpr float kUnset = -12345.678F;

/// Runs a forward and a backward pass through the core. Requests every gradient that the problem
/// has, or, if `shows_scores` is false, all except the gradients of scores and weights.
Gradients backward(const AttentionProblem& p, const std::vector<float>& output_gradient,
                   attn::Context& context, bool shows_scores = true) {
  const FloatTensor query(p.query_shape(), p.query, p.layout);
  const FloatTensor key(p.key_shape(), p.key, p.layout);
  const FloatTensor value(p.value_shape(), p.value, p.layout);
  const FloatTensor gradient(p.output_shape(), output_gradient, p.layout);
  const attn_test::AttentionInputs inputs(p);
  attn::AttentionOptions options = inputs.options();
  FloatTensor output = FloatTensor::filled(p.output_shape(), kUnset, p.layout);
  FloatTensor log_sum_exp = FloatTensor::filled(p.row_shape(), kUnset, p.layout);
  options.log_sum_exp = log_sum_exp.view();
  attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(), options,
                                     context);
  options.log_sum_exp = {};

  const auto unset = [&](bool wanted, std::vector<std::int64_t> shape) {
    return wanted ? FloatTensor::filled(std::move(shape), kUnset, p.layout) : FloatTensor();
  };
  FloatTensor of_query = unset(true, p.query_shape());
  FloatTensor of_key = unset(true, p.key_shape());
  FloatTensor of_value = unset(true, p.value_shape());
  FloatTensor of_scores = unset(shows_scores, p.score_shape());
  FloatTensor of_weights = unset(shows_scores, p.score_shape());
  FloatTensor of_bias = unset(!p.bias.empty(), p.bias_shape);
  FloatTensor of_slopes = unset(!p.alibi_slopes.empty(), {p.sizes.query_heads});
  FloatTensor of_table = unset(!p.t5_table.empty(), p.t5_shape());
  FloatTensor of_relative_keys =
      unset(!p.relative_keys.empty(), p.relative_shape(p.sizes.head_dim));
  FloatTensor of_relative_values =
      unset(!p.relative_values.empty(), p.relative_shape(p.sizes.value_dim));
  FloatTensor of_sinks = unset(!p.sinks.empty(), {p.sizes.query_heads});
  attn::scaled_dot_product_attention_backward(query.view(), key.view(), value.view(), output.view(),
                                              log_sum_exp.view(), gradient.view(),
                                              {.query = of_query.view(),
                                               .key = of_key.view(),
                                               .value = of_value.view(),
                                               .scores = of_scores.view(),
                                               .weights = of_weights.view(),
                                               .bias = of_bias.view(),
                                               .alibi_slopes = of_slopes.view(),
                                               .t5_table = of_table.view(),
                                               .relative_keys = of_relative_keys.view(),
                                               .relative_values = of_relative_values.view(),
                                               .sinks = of_sinks.view()},
                                              options, context);
  for (const FloatTensor* tensor :
       {&of_query, &of_key, &of_value, &of_scores, &of_weights, &of_bias, &of_slopes, &of_table,
        &of_relative_keys, &of_relative_values, &of_sinks}) {
    EXPECT_TRUE(tensor->gaps_are_untouched()) << "written outside of a gradient";
  }
  return {of_query.values(),           of_key.values(),     of_value.values(),
          of_scores.values(),          of_weights.values(), of_bias.values(),
          of_slopes.values(),          of_table.values(),   of_relative_keys.values(),
          of_relative_values.values(), of_sinks.values()};
}

std::vector<float> random_gradient(const AttentionProblem& p, Random& random) {
  return random.normals(AttentionProblem::count(p.output_shape()));
}

/// Compares all gradients except the gradients of scores and weights.
void expect_same_bits(const Gradients& a, const Gradients& b) {
  EXPECT_TRUE(same_bits(a.query, b.query));
  EXPECT_TRUE(same_bits(a.key, b.key));
  EXPECT_TRUE(same_bits(a.value, b.value));
  EXPECT_TRUE(same_bits(a.bias, b.bias));
  EXPECT_TRUE(same_bits(a.alibi_slopes, b.alibi_slopes));
  EXPECT_TRUE(same_bits(a.t5_table, b.t5_table));
  EXPECT_TRUE(same_bits(a.relative_keys, b.relative_keys));
  EXPECT_TRUE(same_bits(a.relative_values, b.relative_values));
  EXPECT_TRUE(same_bits(a.sinks, b.sinks));
}

/// The reference's gradients of a call. The gradients of inputs that the problem lacks are empty.
struct ReferenceGradients {
  reference::Bounded query, key, value, scores, weights, bias, alibi_slopes, t5_table,
      relative_keys, relative_values, sinks;
};

ReferenceGradients reference_gradients(const reference::Attention& inputs,
                                       const reference::Array& output_gradient) {
  reference::Tape tape;
  const reference::AttentionOf<reference::Scalar> call = variables(tape, inputs);
  const reference::AttentionResultOf<reference::Scalar> result = reference::attention(call);
  tape.backward(reference::inner(result.output, output_gradient));
  const auto gradient = [&](const reference::ArrayOf<reference::Scalar>& of) {
    return of.given() ? tape.gradient(of) : reference::Bounded();
  };
  reference::Bounded weights = gradient(result.weights);
  // The core returns the gradient before dropout.
  for (std::size_t i = 0; call.kept.given() && i < weights.exact.values.size(); ++i) {
    weights.exact.values[i] *= call.kept.values[i];
    weights.error.values[i] *= call.kept.values[i];
  }
  return {gradient(call.query),           gradient(call.key),      gradient(call.value),
          gradient(result.biased_scores), std::move(weights),      gradient(call.bias),
          gradient(call.alibi_slopes),    gradient(call.t5_table), gradient(call.relative_keys),
          gradient(call.relative_values), gradient(call.sinks)};
}

/// Like reference_gradients(), but computes the gradients only once for all instruction sets of a
/// test, because the reference takes much longer than the core.
const ReferenceGradients& shared_reference_gradients(const AttentionProblem& p,
                                                     const std::vector<float>& gradient) {
  struct Call {
    reference::Attention inputs;
    reference::Array output_gradient;
    ReferenceGradients gradients;
  };
  static std::vector<std::unique_ptr<Call>> calls;
  static std::string test;
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  if (const std::string running = name.substr(0, name.find('/')); running != test) {
    calls.clear();
    test = running;
  }
  const reference::Attention inputs = p.reference_call();
  const reference::Array output_gradient(p.output_shape(), gradient);
  for (const std::unique_ptr<Call>& call : calls) {
    if (call->output_gradient == output_gradient && call->inputs == inputs) return call->gradients;
  }
  calls.push_back(std::make_unique<Call>(
      Call{inputs, output_gradient, reference_gradients(inputs, output_gradient)}));
  return calls.back()->gradients;
}

void expect_matches_reference(const AttentionProblem& p, Random& random, attn::Context& context) {
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients got = backward(p, output_gradient, context);
  {
    SCOPED_TRACE("without gradients of scores and weights");
    expect_same_bits(backward(p, output_gradient, context, false), got);
  }
  const ReferenceGradients& wanted = shared_reference_gradients(p, output_gradient);
  const auto compare = [&](const char* name, const std::vector<float>& values,
                           const reference::Bounded& gradient) {
    if (!gradient.exact.given()) return;
    EXPECT_TRUE(is_within(values, gradient.exact, gradient.error)) << "gradient of " << name;
  };
  compare("query", got.query, wanted.query);
  compare("key", got.key, wanted.key);
  compare("value", got.value, wanted.value);
  compare("scores", got.scores, wanted.scores);
  compare("weights", got.weights, wanted.weights);
  compare("bias", got.bias, wanted.bias);
  compare("alibi_slopes", got.alibi_slopes, wanted.alibi_slopes);
  compare("t5_table", got.t5_table, wanted.t5_table);
  compare("relative_keys", got.relative_keys, wanted.relative_keys);
  compare("relative_values", got.relative_values, wanted.relative_values);
  compare("sinks", got.sinks, wanted.sinks);
}

/// Sizes that include one query, one key, widths that are not multiples of the vector length, and
/// grouped heads. Some calls have fewer queries than a block, and some have more. Some have fewer
/// keys than a tile or than a chunk of any length, and some have more.
std::vector<AttentionSizes> typical_sizes() {
  return {{1, 1, 1, 1, 1, 1, 1},     {2, 4, 2, 1, 1, 8, 8},     {1, 2, 1, 1, 300, 20, 12},
          {1, 3, 3, 7, 5, 3, 17},    {1, 2, 1, 50, 257, 16, 5}, {1, 2, 2, 47, 63, 31, 33},
          {1, 2, 2, 49, 65, 64, 64}, {1, 1, 1, 97, 520, 5, 9},  {1, 4, 4, 50, 1030, 8, 8}};
}

TEST_P(AttentionBackwardTest, sizes_and_layouts) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (const Layout layout : {Layout::kContiguous, Layout::kReversed, Layout::kSpread}) {
      SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
      AttentionProblem p(sizes, random);
      p.layout = layout;
      expect_matches_reference(p, random, context());
    }
  }
}

TEST_P(AttentionBackwardTest, exclusion) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
    expect_matches_reference(p, random, context());
    p.window = attn_test::random_window(sizes, random);
    p.valid_lens = attn_test::random_lengths(sizes.batch, sizes.num_keys, random);
    expect_matches_reference(p, random, context());
    p.key_lens = attn_test::random_lengths(sizes.batch, sizes.num_keys, random);
    p.mask_shape = {sizes.batch, 1, sizes.num_queries, sizes.num_keys};
    p.mask.resize(static_cast<std::size_t>(AttentionProblem::count(p.mask_shape)));
    for (std::uint8_t& attends : p.mask) attends = random.chance(0.7) ? 1 : 0;
    expect_matches_reference(p, random, context());
  }
}

TEST_P(AttentionBackwardTest, masks_of_whole_tiles) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : {AttentionSizes{1, 2, 1, 130, 257, 8, 5},
                                      {2, 2, 2, 49, 65, 16, 20},
                                      {1, 1, 1, 1, 600, 5, 9}}) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.mask = attn_test::document_mask(sizes.num_queries, sizes.num_keys);
    p.mask_shape = {sizes.num_queries, sizes.num_keys};
    expect_matches_reference(p, random, context());
    p.causal = true;
    p.max_distance = 4;
    p.relative_keys = random.normals(AttentionProblem::count(p.relative_shape(sizes.head_dim)));
    p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(sizes.value_dim)));
    p.dropout = 0.2F;
    expect_matches_reference(p, random, context());
    AttentionProblem biased(sizes, random);
    biased.bias_shape = p.mask_shape;
    for (const std::uint8_t attends : p.mask) {
      biased.bias.push_back(attends ? random.normal() : -std::numeric_limits<float>::infinity());
    }
    expect_matches_reference(biased, random, context());
    p.mask.assign(p.mask.size(), 0);
    expect_matches_reference(p, random, context());
  }
}

// Rows that attend to all keys keep tiles from being skipped. A query whose output has gradient 0
// adds zeros to the other gradients.
TEST_P(AttentionBackwardTest, skipping_tiles_changes_no_bit) {
  Random random = Random::of_all_parameters();
  for (const bool with_terms : {false, true}) {
    for (const AttentionSizes& sizes :
         {AttentionSizes{1, 1, 1, 150, 300, 20, 17}, {1, 1, 1, 49, 1100, 8, 8}}) {
      AttentionProblem p(sizes, random);
      p.mask = attn_test::document_mask(sizes.num_queries, sizes.num_keys);
      p.mask_shape = {sizes.num_queries, sizes.num_keys};
      if (with_terms) {
        p.softcap = 3;
        p.max_distance = 3;
        p.relative_keys = random.normals(7 * sizes.head_dim);
        p.dropout = 0.25F;
      }
      AttentionProblem whole = p;
      const std::vector<std::int64_t> changed =
          attn_test::let_some_rows_attend_to_all(whole.mask, sizes.num_queries, sizes.num_keys);
      std::vector<float> output_gradient = random_gradient(p, random);
      for (const std::int64_t i : changed) {
        std::fill_n(output_gradient.begin() + i * sizes.value_dim, sizes.value_dim, 0.0F);
      }
      const Gradients skipped = backward(p, output_gradient, context(), with_terms);
      const Gradients expected = backward(whole, output_gradient, context(), with_terms);
      EXPECT_TRUE(same_bits(skipped.query, expected.query));
      EXPECT_TRUE(same_bits(skipped.key, expected.key));
      EXPECT_TRUE(same_bits(skipped.value, expected.value));
      EXPECT_TRUE(same_bits(skipped.scores, expected.scores));
      EXPECT_TRUE(same_bits(skipped.relative_keys, expected.relative_keys));
    }
  }
}

/// Compares the gradients of packed sequences with the reference for each sequence. Tables, slopes
/// and sinks belong to all sequences, so their gradients are compared with sums.
void expect_packed_matches_reference(const AttentionProblem& p, Random& random,
                                     attn::Context& context) {
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients got = backward(p, output_gradient, context, false);
  struct Sum {
    const char* name;
    const std::vector<float>& got;
    std::vector<double> exact, error;
  };
  Sum sums[] = {{"alibi_slopes", got.alibi_slopes, {}, {}},
                {"t5_table", got.t5_table, {}, {}},
                {"relative_keys", got.relative_keys, {}, {}},
                {"relative_values", got.relative_values, {}, {}},
                {"sinks", got.sinks, {}, {}}};
  for (std::int64_t s = 0; s + 1 < std::ssize(p.cu_seqlens); ++s) {
    SCOPED_TRACE(::testing::Message() << "sequence " << s);
    const AttentionProblem alone = attn_test::sequence_of(p, s);
    const std::vector<float> gradient = attn_test::queries_of(p, output_gradient, s);
    const ReferenceGradients& wanted = shared_reference_gradients(alone, gradient);
    const auto compare = [&](const char* name, const std::vector<float>& values,
                             const reference::Bounded& of) {
      EXPECT_TRUE(is_within(values, of.exact, of.error)) << "gradient of " << name;
    };
    compare("query", attn_test::queries_of(p, got.query, s), wanted.query);
    compare("key", attn_test::keys_of(p, got.key, s), wanted.key);
    compare("value", attn_test::keys_of(p, got.value, s), wanted.value);
    const reference::Bounded* const shared[] = {&wanted.alibi_slopes, &wanted.t5_table,
                                                &wanted.relative_keys, &wanted.relative_values,
                                                &wanted.sinks};
    for (std::size_t i = 0; i < std::size(sums); ++i) {
      if (!shared[i]->exact.given()) continue;
      const auto& [exact, error] = *shared[i];
      sums[i].exact.resize(exact.values.size());
      sums[i].error.resize(exact.values.size());
      for (std::size_t j = 0; j < exact.values.size(); ++j) {
        sums[i].exact[j] += exact.values[j];
        // Adding the gradients of the sequences rounds each sum once more per sequence.
        sums[i].error[j] += error.values[j] + 0x1p-24 *
                                                  static_cast<double>(std::ssize(p.cu_seqlens)) *
                                                  std::abs(exact.values[j]);
      }
    }
    // A single query is rounded differently in its own call.
    if (alone.sizes.num_queries == 1) continue;
    const Gradients separate = backward(alone, gradient, context, false);
    EXPECT_TRUE(same_bits(attn_test::queries_of(p, got.query, s), separate.query));
    EXPECT_TRUE(same_bits(attn_test::keys_of(p, got.key, s), separate.key));
    EXPECT_TRUE(same_bits(attn_test::keys_of(p, got.value, s), separate.value));
  }
  for (const Sum& sum : sums) {
    for (std::size_t j = 0; j < sum.exact.size(); ++j) {
      EXPECT_NEAR(sum.got[j], sum.exact[j], sum.error[j]) << "gradient of " << sum.name;
    }
  }
}

TEST_P(AttentionBackwardTest, packed_sequences) {
  Random random = Random::of_all_parameters();
  const std::vector<std::int32_t> lengths{0, 64, 1, 63, 65, 0, 129, 5, 48, 47, 49, 0};
  const std::vector<std::int32_t> key_lengths{3, 65, 7, 64, 0, 0, 257, 1, 128, 127, 129, 0};
  for (const bool is_cross : {false, true}) {
    SCOPED_TRACE(is_cross ? "cross attention" : "self-attention");
    const std::vector<std::int32_t> starts = attn_test::cumulative(lengths);
    const std::vector<std::int32_t> key_starts =
        is_cross ? attn_test::cumulative(key_lengths) : starts;
    AttentionProblem p({1, 4, 2, starts.back(), key_starts.back(), 8, 5}, random);
    p.cu_seqlens = starts;
    if (is_cross) p.cu_seqlens_k = key_starts;
    expect_packed_matches_reference(p, random, context());
    p.layout = Layout::kSpread;
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
    p.softcap = 3;
    p.alibi_slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
    p.sinks = random.normals(4);
    expect_packed_matches_reference(p, random, context());
    p.causal = false;
    p.window = attn::Window{9, 4};
    p.t5_table = random.normals(8 * 4);
    p.max_distance = 4;
    p.relative_keys = random.normals(AttentionProblem::count(p.relative_shape(8)));
    p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(5)));
    expect_packed_matches_reference(p, random, context());
  }
}

TEST_P(AttentionBackwardTest, packed_sequences_give_the_same_bits_on_any_number_of_threads) {
  Random random;
  for (const std::int64_t heads : {1, 3}) {
    AttentionProblem p({1, heads, heads, 1400, 1400, 8, 8}, random);
    p.cu_seqlens = attn_test::cumulative({1100, 0, 1, 70, 229});
    p.causal = true;
    p.alibi_slopes = random.normals(heads);
    const std::vector<float> output_gradient = random_gradient(p, random);
    attn::Context one({.num_threads = 1, .instruction_set = context().instruction_set()});
    attn::Context many({.num_threads = 5, .instruction_set = context().instruction_set()});
    expect_same_bits(backward(p, output_gradient, many, false),
                     backward(p, output_gradient, one, false));
  }
}

// NaN in one sequence must not reach the gradients of the other sequences.
TEST_P(AttentionBackwardTest, packed_sequences_do_not_read_each_other) {
  Random random;
  AttentionProblem p({1, 2, 1, 190, 190, 8, 5}, random);
  p.cu_seqlens = attn_test::cumulative({60, 65, 65});
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients clean = backward(p, output_gradient, context(), false);
  AttentionProblem spoiled = p;
  for (std::int64_t h = 0; h < 2; ++h) {
    std::fill_n(spoiled.query.begin() + (h * 190 + 60) * 8, 65 * 8, attn_test::kNaN);
  }
  std::fill_n(spoiled.key.begin() + 60 * 8, 65 * 8, attn_test::kNaN);
  std::fill_n(spoiled.value.begin() + 60 * 5, 65 * 5, attn_test::kNaN);
  const Gradients got = backward(spoiled, output_gradient, context(), false);
  for (const std::int64_t s : {0, 2}) {
    EXPECT_TRUE(same_bits(queries_of(p, got.query, s), queries_of(p, clean.query, s)));
    EXPECT_TRUE(same_bits(keys_of(p, got.key, s), keys_of(p, clean.key, s)));
    EXPECT_TRUE(same_bits(keys_of(p, got.value, s), keys_of(p, clean.value, s)));
  }
}

TEST_P(AttentionBackwardTest, bias_of_every_broadcast_shape) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : typical_sizes()) {
    for (int shape = 0; shape < 8; ++shape) {
      // Skips bits of `shape` for dimensions that already have size 1, because these bits would not
      // change the shape of the bias.
      if ((shape & 1 && sizes.batch == 1) || (shape & 2 && sizes.query_heads == 1) ||
          (shape & 4 && sizes.num_queries == 1)) {
        continue;
      }
      SCOPED_TRACE(::testing::Message()
                   << sizes.num_queries << " × " << sizes.num_keys << ", shape " << shape);
      AttentionProblem p(sizes, random);
      p.bias_shape = {shape & 1 ? sizes.batch : 1, shape & 2 ? sizes.query_heads : 1,
                      shape & 4 ? sizes.num_queries : 1, sizes.num_keys};
      p.bias = random.normals(AttentionProblem::count(p.bias_shape));
      for (float& bias : p.bias) {
        if (random.chance(0.1)) bias = -std::numeric_limits<float>::infinity();
      }
      expect_matches_reference(p, random, context());
    }
  }
}

TEST_P(AttentionBackwardTest, terms_of_the_score) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.scale = 0.3F;
    p.softcap = 2.5F;
    expect_matches_reference(p, random, context());
    p.alibi_slopes.resize(static_cast<std::size_t>(sizes.query_heads));
    attn::alibi_slopes(p.alibi_slopes);
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
    expect_matches_reference(p, random, context());
    p.t5_table = random.normals(32 * sizes.query_heads);
    p.sinks = random.normals(sizes.query_heads);
    expect_matches_reference(p, random, context());
    for (const bool per_head : {false, true}) {
      AttentionProblem shaw(sizes, random);
      shaw.max_distance = per_head ? 3 : 40;
      shaw.relative_per_head = per_head;
      shaw.relative_keys =
          random.normals(AttentionProblem::count(shaw.relative_shape(sizes.head_dim)));
      expect_matches_reference(shaw, random, context());
      shaw.relative_values =
          random.normals(AttentionProblem::count(shaw.relative_shape(sizes.value_dim)));
      shaw.softcap = 3;
      expect_matches_reference(shaw, random, context());
      shaw.relative_keys.clear();
      expect_matches_reference(shaw, random, context());
    }
  }
}

TEST_P(AttentionBackwardTest, dropout) {
  Random random = Random::of_all_parameters();
  for (const AttentionSizes& sizes : typical_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
    AttentionProblem p(sizes, random);
    p.dropout = 0.3F;
    p.dropout_random = {.seed = 5, .stream = 7};
    expect_matches_reference(p, random, context());
    p.softcap = 3;
    p.max_distance = 2;
    p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(sizes.value_dim)));
    expect_matches_reference(p, random, context());
  }
}

TEST_P(AttentionBackwardTest, bits_do_not_depend_on_the_number_of_threads) {
  Random random;
  AttentionProblem p({2, 4, 2, 150, 700, 24, 20}, random);
  p.alibi_slopes.resize(4);
  attn::alibi_slopes(p.alibi_slopes);
  p.bias_shape = {1, 1, 150, 700};
  p.bias = random.normals(150 * 700);
  p.max_distance = 5;
  p.relative_keys = random.normals(11 * 24);
  p.relative_values = random.normals(11 * 20);
  p.sinks = random.normals(4);
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients one = backward(p, output_gradient, context(1));
  for (const int threads : {2, 3, 7}) {
    const Gradients several = backward(p, output_gradient, context(threads));
    expect_same_bits(several, one);
    EXPECT_TRUE(same_bits(one.weights, several.weights));
  }
}

TEST_P(AttentionBackwardTest, bits_of_an_entry_do_not_depend_on_its_neighbours) {
  Random random;
  for (const AttentionSizes& sizes : {AttentionSizes{3, 4, 2, 50, 257, 16, 5},
                                      {3, 2, 2, 1, 300, 20, 12},
                                      {3, 1, 1, 5, 7, 3, 4}}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(::testing::Message() << sizes.num_queries << " × " << sizes.num_keys);
      AttentionProblem p(sizes, random);
      p.causal = causal;
      p.diagonal = Diagonal::bottom_right();
      if (causal) p.key_lens = attn_test::random_lengths(sizes.batch, sizes.num_keys, random);
      p.bias_shape = {sizes.batch, 1, sizes.num_queries, sizes.num_keys};
      p.bias = random.normals(AttentionProblem::count(p.bias_shape));
      const std::vector<float> output_gradient = random_gradient(p, random);
      const Gradients together = backward(p, output_gradient, context(3));
      const auto part_of = [&](const std::vector<float>& all, std::int64_t b) {
        const auto each = std::ssize(all) / sizes.batch;
        return std::vector<float>(all.begin() + b * each, all.begin() + (b + 1) * each);
      };
      for (std::int64_t b = 0; b < sizes.batch; ++b) {
        const Gradients alone = backward(entry_of(p, b), part_of(output_gradient, b), context(1));
        EXPECT_TRUE(same_bits(alone.query, part_of(together.query, b)));
        EXPECT_TRUE(same_bits(alone.key, part_of(together.key, b)));
        EXPECT_TRUE(same_bits(alone.value, part_of(together.value, b)));
        EXPECT_TRUE(same_bits(alone.scores, part_of(together.scores, b)));
        EXPECT_TRUE(same_bits(alone.weights, part_of(together.weights, b)));
        EXPECT_TRUE(same_bits(alone.bias, part_of(together.bias, b)));
      }
    }
  }
}

TEST_P(AttentionBackwardTest, bits_in_causal_order_do_not_depend_on_the_number_of_threads) {
  Random random;
  // The shapes cover more heads than threads, one head for all threads, and every chunk length.
  const AttentionSizes shapes[] = {
      {2, 4, 2, 350, 600, 24, 20}, {1, 1, 1, 500, 500, 24, 20}, {1, 4, 4, 90, 1100, 8, 8}};
  for (const auto& [shape, windowed] : {std::pair(0, false), {0, true}, {1, false}, {2, false}}) {
    AttentionProblem p(shapes[shape], random);
    p.causal = true;
    p.diagonal = Diagonal::bottom_right();
    if (windowed) p.window = attn::Window{.left = 77};
    const std::vector<float> output_gradient = random_gradient(p, random);
    const Gradients one = backward(p, output_gradient, context(1), false);
    for (const int threads : {2, 3, 7}) {
      expect_same_bits(backward(p, output_gradient, context(threads), false), one);
    }
  }
}

TEST_P(AttentionBackwardTest, nan_in_excluded_inputs_changes_no_bit) {
  Random random;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool by_row : {false, true}) {
    AttentionProblem p({1, 2, 1, 60, 130, 20, 12}, random);
    p.valid_lens = {100};
    if (by_row) p.softcap = 5;
    const std::vector<float> output_gradient = random_gradient(p, random);
    const Gradients clean = backward(p, output_gradient, context());
    // No query attends to key 100 or any later key.
    AttentionProblem padded = p;
    for (std::size_t i = 100 * 20; i < padded.key.size(); ++i) padded.key[i] = nan;
    for (std::size_t i = 100 * 12; i < padded.value.size(); ++i) padded.value[i] = nan;
    const Gradients of_padded = backward(padded, output_gradient, context());
    expect_same_bits(of_padded, clean);
    EXPECT_TRUE(same_bits(of_padded.scores, clean.scores));
    EXPECT_TRUE(same_bits(of_padded.weights, clean.weights));
    // In causal order, only query 40 and later queries attend to key 40.
    p.causal = true;
    const Gradients causal = backward(p, output_gradient, context(), false);
    AttentionProblem poisoned = p;
    for (std::size_t d = 0; d < 20; ++d) poisoned.key[40 * 20 + d] = nan;
    for (std::size_t d = 0; d < 12; ++d) poisoned.value[41 * 12 + d] = nan;
    const Gradients got = backward(poisoned, output_gradient, context());
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t i = 0; i < 60; ++i) {
        for (std::size_t d = 0; d < 20; ++d) {
          const std::size_t at = (h * 60 + i) * 20 + d;
          if (i < 40) {
            EXPECT_EQ(got.query[at], causal.query[at]) << h << ' ' << i << ' ' << d;
          } else {
            EXPECT_TRUE(std::isnan(got.query[at])) << h << ' ' << i << ' ' << d;
          }
        }
      }
    }
    for (std::size_t j = 100; j < 130; ++j) EXPECT_EQ(got.key[j * 20], 0.0F) << j;
  }
}

TEST_P(AttentionBackwardTest, nan_in_a_query_that_attends_to_nothing_changes_no_table) {
  Random random;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Queries 0 to 2 have no key in range, and query 20 is masked.
  AttentionProblem p({1, 2, 1, 60, 130, 20, 12}, random);
  p.causal = true;
  p.diagonal = Diagonal::offset(-3);
  p.mask_shape = {60, 130};
  p.mask.assign(60 * 130, 1);
  std::fill_n(p.mask.begin() + 20 * 130, 130, std::uint8_t{0});
  p.max_distance = 5;
  p.relative_keys = random.normals(11 * 20);
  p.relative_values = random.normals(11 * 12);
  p.alibi_slopes = random.normals(2);
  p.t5_table = random.normals(8 * 2);
  p.sinks = random.normals(2);
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients clean = backward(p, output_gradient, context());
  AttentionProblem poisoned = p;
  std::vector<float> poisoned_gradient = output_gradient;
  for (const std::ptrdiff_t h : {0, 1}) {
    for (const std::ptrdiff_t i : {0, 1, 2, 20}) {
      std::fill_n(poisoned.query.begin() + (h * 60 + i) * 20, 20, nan);
      std::fill_n(poisoned_gradient.begin() + (h * 60 + i) * 12, 12, nan);
    }
  }
  for (const bool by_query : {true, false}) {
    SCOPED_TRACE(by_query ? "in the query" : "in the gradient of its output");
    const Gradients got = backward(by_query ? poisoned : p,
                                   by_query ? output_gradient : poisoned_gradient, context());
    expect_same_bits(got, clean);
    EXPECT_TRUE(same_bits(got.scores, clean.scores));
    EXPECT_TRUE(same_bits(got.weights, clean.weights));
  }
}

TEST_P(AttentionBackwardTest, nan_reaches_only_the_rows_of_shaws_tables_that_it_uses) {
  Random random;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // In causal order, query 1 has keys at distances −1 and 0 only. Nothing uses distances above 0.
  AttentionProblem p({1, 1, 1, 60, 130, 20, 12}, random);
  p.causal = true;
  p.max_distance = 2;
  p.relative_keys = random.normals(5 * 20);
  p.relative_values = random.normals(5 * 12);
  const std::vector<float> output_gradient = random_gradient(p, random);
  const Gradients clean = backward(p, output_gradient, context());
  AttentionProblem poisoned = p;
  std::fill_n(poisoned.query.begin() + 20, 20, nan);
  // Nothing reads the row of distance 1.
  std::fill_n(poisoned.relative_keys.begin() + 3 * 20, 20, nan);
  const Gradients got = backward(poisoned, output_gradient, context());
  for (std::size_t c = 0; c < 5; ++c) {
    const bool reached = c == 1 || c == 2;
    EXPECT_EQ(std::isnan(got.relative_keys[c * 20]), reached) << c;
    EXPECT_EQ(std::isnan(got.relative_values[c * 12]), reached) << c;
    if (reached) continue;
    EXPECT_EQ(got.relative_keys[c * 20], clean.relative_keys[c * 20]) << c;
    EXPECT_EQ(got.relative_values[c * 12], clean.relative_values[c * 12]) << c;
  }
  for (std::size_t i = 0; i < 60; ++i) {
    if (i == 1) {
      EXPECT_TRUE(std::isnan(got.query[i * 20]));
    } else {
      EXPECT_EQ(got.query[i * 20], clean.query[i * 20]) << i;
    }
  }
}

TEST_P(AttentionBackwardTest, query_with_nothing_to_attend_to_has_gradient_zero) {
  Random random;
  AttentionProblem p({1, 1, 1, 5, 9, 4, 4}, random);
  p.causal = true;
  p.diagonal = Diagonal::offset(-2);
  const Gradients got = backward(p, random_gradient(p, random), context());
  EXPECT_THAT(std::vector<float>(got.query.begin(), got.query.begin() + 8), ::testing::Each(0.0F));
}

TEST(AttentionBackwardErrorTest, names_the_argument_and_leaves_gradients_untouched) {
  const std::vector<float> x(2 * 3 * 4, 0.5F);
  std::vector<float> gradient(2 * 3 * 4, 7.0F);
  const attn::ConstTensor in(x.data(), {1, 2, 3, 4}), lse(x.data(), {1, 2, 3});
  const attn::Tensor out(gradient.data(), {1, 2, 3, 4});
  const auto error = [&](const attn::AttentionGradients& gradients,
                         const attn::AttentionOptions& options = {}) {
    return error_of([&] {
      attn::scaled_dot_product_attention_backward(in, in, in, in, lse, in, gradients, options);
    });
  };
  EXPECT_EQ(error({.query = {gradient.data(), {1, 2, 4, 3}}}),
            "shape_mismatch: gradients.query: got shape (1, 2, 4, 3), needs shape (1, 2, 3, 4)");
  EXPECT_EQ(error({.query = out, .sinks = {gradient.data(), {2}}}),
            "shape_mismatch: gradients.sinks: got shape (2), needs none; the call does not use "
            "this option");
  EXPECT_EQ(error({.query = out, .scores = {gradient.data(), {1, 2, 3, 4}}}),
            "shape_mismatch: gradients.scores: got shape (1, 2, 3, 4), needs shape (1, 2, 3, 3)");
  EXPECT_EQ(error({.query = out, .weights = {gradient.data(), {2, 3, 4}}}),
            "shape_mismatch: gradients.weights: got shape (2, 3, 4), needs shape (1, 2, 3, 3)");
  EXPECT_EQ(error({.key = {nullptr, {1, 2, 3, 4}}}),
            "invalid_argument: gradients.key: got a null pointer, needs data");
  EXPECT_EQ(error({.query = out}, {.softcap = -1}),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  const attn::ConstTensor wide(x.data(), {1, 2, 3, 2});
  EXPECT_EQ(error_of([&] {
              attn::scaled_dot_product_attention_backward(in, in, in, in, lse, wide,
                                                          {.query = out});
            }),
            "shape_mismatch: output_gradient: got shape (1, 2, 3, 2), needs shape (1, 2, 3, 4)");
  EXPECT_EQ(error_of([&] {
              attn::scaled_dot_product_attention_backward(in, in, in, in, in, in, {.query = out});
            }),
            "shape_mismatch: log_sum_exp: got shape (1, 2, 3, 4), needs shape (1, 2, 3)");
  EXPECT_THAT(gradient, ::testing::Each(7.0F));
}

TEST(AttentionBackwardErrorTest, running_out_of_memory) {
  const std::vector<float> x(2 * 3 * 4, 0.5F);
  std::vector<float> gradient(2 * 3 * 4, 7.0F);
  const attn::ConstTensor in(x.data(), {1, 2, 3, 4}), lse(x.data(), {1, 2, 3});
  attn::Context fresh({.num_threads = 1});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        attn::scaled_dot_product_attention_backward(
            in, in, in, in, lse, in, {.query = {gradient.data(), {1, 2, 3, 4}}}, {}, fresh);
      },
      [&](std::int64_t allowed) {
        EXPECT_THAT(gradient, ::testing::Each(7.0F)) << allowed;
        fresh.release_memory();
      });
}

TEST(AttentionBackwardMemoryTest, a_steady_loop_allocates_nothing) {
  attn::Context context({.num_threads = 1});
  const std::vector<float> x(2 * 30 * 8, 0.5F);
  std::vector<float> gradient(x.size());
  const attn::ConstTensor in(x.data(), {1, 2, 30, 8}), lse(x.data(), {1, 2, 30});
  const attn::Tensor out(gradient.data(), {1, 2, 30, 8});
  attn_test::expect_no_allocations([&] {
    attn::scaled_dot_product_attention_backward(in, in, in, in, lse, in, {.key = out}, {}, context);
  });
}

}  // namespace
