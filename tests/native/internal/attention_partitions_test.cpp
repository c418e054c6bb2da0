// The work of a call is divided differently depending on the number of cores, on the other entries
// of the batch, and on the path that its sizes and strides select. Every division must give
// bit-identical results.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/attention_plan.hpp"
#include "attention/attention_problem.hpp"
#include "attention/check_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "runtime/execution.hpp"

namespace {

using attn::kernels::index;
using attn::kernels::KernelTable;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::entry_of;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

struct Call {
  std::string name;
  AttentionProblem problem;
};

/// Calls that cover every path through the core. Some conditions make a call switch to a different
/// path; each of these conditions is true in some calls and false in others.
std::vector<Call> calls(Random& random) {
  std::vector<Call> calls;
  const auto add = [&](const std::string& name, const attn_test::AttentionSizes& sizes) {
    calls.push_back({name, AttentionProblem(sizes, random)});
    return &calls.back().problem;
  };
  const auto spoil = [](AttentionProblem& p, std::int64_t from_key) {
    // Sets the values of the last keys of every head to NaN. Valid lengths exclude these keys.
    for (std::int64_t row = 0; row < p.sizes.batch * p.sizes.key_heads; ++row) {
      for (std::int64_t key = from_key; key < p.sizes.num_keys; ++key) {
        const auto at =
            static_cast<std::size_t>((row * p.sizes.num_keys + key) * p.sizes.value_dim);
        p.value[at] = kNaN;
      }
    }
    p.valid_lens.assign(static_cast<std::size_t>(p.sizes.batch),
                        static_cast<std::int32_t>(from_key));
  };
  const attn_test::AttentionSizes tiles{.batch = 2,
                                        .query_heads = 2,
                                        .key_heads = 1,
                                        .num_queries = 250,
                                        .num_keys = 300,
                                        .head_dim = 20,
                                        .value_dim = 12};
  add("tiles", tiles);
  AttentionProblem* p = add("causal tiles", tiles);
  p->causal = true;
  p->diagonal = attn::Diagonal::bottom_right();
  p = add("tiles with every term", tiles);
  p->softcap = 5;
  p->window = attn::Window{.left = 100, .right = 50};
  p->bias_shape = {250, 300};
  p->bias = random.normals(250 * 300);
  p->alibi_slopes = random.uniforms(2, 0, 0.5F);
  p->max_distance = 5;
  p->relative_keys = random.normals(11 * 20);
  p->relative_values = random.normals(11 * 12);
  p->sinks = random.normals(2);
  spoil(*add("tiles beside excluded NaN", tiles), 170);
  p = add("tiles with scores beyond exponents", tiles);
  for (std::size_t i = 0; i < 20; ++i) p->query[77 * 20 + i] = 1e7F;

  const attn_test::AttentionSizes few{.batch = 3,
                                      .query_heads = 6,
                                      .key_heads = 3,
                                      .num_queries = 37,
                                      .num_keys = 11,
                                      .head_dim = 20,
                                      .value_dim = 35};
  add("few keys", few);
  add("few keys, causal", few)->causal = true;
  spoil(*add("few keys beside excluded NaN", few), 7);
  p = add("few keys with scores beyond exponents", few);
  for (std::size_t i = 0; i < 20; ++i) p->query[5 * 20 + i] = 1e7F;

  const attn_test::AttentionSizes one{.batch = 2,
                                      .query_heads = 4,
                                      .key_heads = 2,
                                      .num_queries = 1,
                                      .num_keys = 1700,
                                      .head_dim = 20,
                                      .value_dim = 12};
  add("one query", one);
  p = add("one query with every term", one);
  p->softcap = 5;
  p->diagonal = attn::Diagonal::offset(1600);
  p->window = attn::Window{.left = 1400, .right = 50};
  p->max_distance = 5;
  p->relative_keys = random.normals(11 * 20);
  p->relative_values = random.normals(11 * 12);
  p->sinks = random.normals(4);
  spoil(*add("one query beside excluded NaN", one), 1100);
  return calls;
}

void expect_same_bits(const AttentionOutputs& got, const AttentionOutputs& expected) {
  EXPECT_TRUE(same_bits(got.output, expected.output));
  EXPECT_TRUE(same_bits(got.log_sum_exp, expected.log_sum_exp));
  EXPECT_TRUE(same_bits(got.scaled_scores, expected.scaled_scores));
  EXPECT_TRUE(same_bits(got.capped_scores, expected.capped_scores));
  EXPECT_TRUE(same_bits(got.biased_scores, expected.biased_scores));
  EXPECT_TRUE(same_bits(got.weights, expected.weights));
  EXPECT_TRUE(same_bits(got.column_sums, expected.column_sums));
}

/// All outputs. The column sums come from a call of their own, because they change the path.
AttentionOutputs attend_for_all(const AttentionProblem& p, attn::Context& context) {
  AttentionOutputs all = attend(p, context);
  AttentionOutputs summed = attend(p, context, {.column_sums = true});
  EXPECT_TRUE(same_bits(summed.output, all.output));
  all.column_sums = std::move(summed.column_sums);
  return all;
}

using AttentionPartitionsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionPartitionsTest);

TEST_P(AttentionPartitionsTest, any_number_of_threads) {
  Random random;
  const std::vector<Call> all = calls(random);
  std::vector<AttentionOutputs> alone;
  for (const Call& call : all) alone.push_back(attend_for_all(call.problem, context(1)));
  // A head has up to six blocks of queries. With six or more threads, each block is a task.
  for (const int threads : {2, 3, 4, 5, 6, 11, 33}) {
    attn::Context many({.num_threads = threads, .instruction_set = GetParam()});
    if (many.num_threads() == 1) break;  // a build without threads
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(all[i].name + ", threads " + std::to_string(threads));
      expect_same_bits(attend_for_all(all[i].problem, many), alone[i]);
    }
  }
}

TEST_P(AttentionPartitionsTest, any_neighbours_in_the_batch) {
  Random random;
  for (const Call& call : calls(random)) {
    const AttentionOutputs batch = attend_for_all(call.problem, context());
    for (std::int64_t b = 0; b < call.problem.sizes.batch; ++b) {
      SCOPED_TRACE(call.name + ", entry " + std::to_string(b));
      const AttentionOutputs expected = entry_of(batch, call.problem.sizes, b);
      const AttentionOutputs alone = attend_for_all(entry_of(call.problem, b), context());
      EXPECT_TRUE(same_bits(alone.output, expected.output));
      EXPECT_TRUE(same_bits(alone.weights, expected.weights));
      EXPECT_TRUE(same_bits(alone.column_sums, expected.column_sums));
    }
  }
}

// Strides decide whether a call with few keys takes a separate path, and whether keys and values
// are copied.
TEST_P(AttentionPartitionsTest, any_layout) {
  Random random;
  for (Call& call : calls(random)) {
    const AttentionOutputs contiguous = attend_for_all(call.problem, context());
    for (int layout = 1; layout <= 4; ++layout) {
      SCOPED_TRACE(call.name + ", layout " + std::to_string(layout));
      call.problem.layout = static_cast<Layout>(layout);
      expect_same_bits(attend_for_all(call.problem, context()), contiguous);
    }
  }
}

// Divides the queries of a head into tasks in every possible way, including ways that do not occur
// with any number of threads.
TEST_P(AttentionPartitionsTest, any_division_of_queries_into_tasks) {
  constexpr std::int64_t kQueries = 250, kKeys = 300, kDim = 20;
  Random random;
  const std::vector<float> q = random.normals(kQueries * kDim), k = random.normals(kKeys * kDim),
                           v = random.normals(kKeys * kDim);
  std::vector<float> output(kQueries * kDim), weights(kQueries * kKeys), sums(kQueries);
  attn::AttentionOptions options;
  options.causal = true;
  options.diagonal = attn::Diagonal::offset(60);
  options.weights = {weights.data(), {1, 1, kQueries, kKeys}};
  options.log_sum_exp = {sums.data(), {1, 1, kQueries}};
  const attn::AttentionProblem problem = attn::check_attention(
      {q.data(), {kQueries, kDim}}, attn::ConstTensor(k.data(), {kKeys, kDim}),
      attn::ConstTensor(v.data(), {kKeys, kDim}), {output.data(), {kQueries, kDim}}, options);
  attn::runtime::Execution run(context());
  const KernelTable& kernels = run.kernels();
  const attn::AttentionPlan plan(problem, attn::kernels::round_up(kDim, kernels.vector_width), run);
  const attn::kernels::AttentionHead head = plan.head(0, 0);
  const attn::kernels::ScoreOutput scores{attn::kernels::ScoreStage::kWeights, weights.data(),
                                          kKeys, 1};
  float* scratch = run.floats(kernels.attention_scratch(head), "test");
  const index step = kernels.attention_step;
  const index blocks = (kQueries + step - 1) / step;
  ASSERT_GE(blocks, 4);
  std::vector<float> first_output, first_weights, first_sums;
  for (std::uint64_t ends = 0; ends < std::uint64_t{1} << (blocks - 1); ++ends) {
    for (auto* out : {&output, &weights, &sums}) std::ranges::fill(*out, 77.0F);
    index begin = 0;
    for (index block = 1; block <= blocks; ++block) {
      // If bit i of `ends` is set, a task ends after block i.
      if (block < blocks && (ends >> (block - 1) & 1) == 0) continue;
      const index end = std::min(block * step, kQueries);
      kernels.attend(head, begin, end, &scores, 1, scratch);
      begin = end;
    }
    if (ends == 0) {
      first_output = output;
      first_weights = weights;
      first_sums = sums;
    }
    SCOPED_TRACE(ends);
    EXPECT_TRUE(same_bits(output, first_output));
    EXPECT_TRUE(same_bits(weights, first_weights));
    EXPECT_TRUE(same_bits(sums, first_sums));
  }
  options.weights = {};
  options.log_sum_exp = {};
  attn::scaled_dot_product_attention({q.data(), {kQueries, kDim}}, {k.data(), {kKeys, kDim}},
                                     {v.data(), {kKeys, kDim}}, {output.data(), {kQueries, kDim}},
                                     options, context());
  EXPECT_TRUE(same_bits(output, first_output));
}

// Threads may compute the parts of a single query in any order, but the parts are always merged in
// the same order.
TEST_P(AttentionPartitionsTest, parts_of_a_single_query_in_any_order) {
  constexpr std::int64_t kKeys = 1700, kDim = 20;
  constexpr index kSplit = attn::kernels::kSplitKeys;
  Random random;
  const std::vector<float> q = random.normals(kDim), k = random.normals(kKeys * kDim),
                           v = random.normals(kKeys * kDim);
  std::vector<float> expected(kDim), output(kDim);
  attn::scaled_dot_product_attention({q.data(), {1, kDim}}, {k.data(), {kKeys, kDim}},
                                     {v.data(), {kKeys, kDim}}, {expected.data(), {1, kDim}}, {},
                                     context());
  const attn::AttentionProblem problem = attn::check_attention(
      {q.data(), {1, kDim}}, attn::ConstTensor(k.data(), {kKeys, kDim}),
      attn::ConstTensor(v.data(), {kKeys, kDim}), {output.data(), {1, kDim}}, {});
  attn::runtime::Execution run(context());
  const KernelTable& kernels = run.kernels();
  const attn::AttentionPlan plan(problem, attn::kernels::round_up(kDim, kernels.vector_width), run);
  const attn::kernels::AttentionHead head = plan.head(0, 0);
  float* scratch = run.floats(kernels.attention_scratch(head), "test");
  const index size = kernels.part_size(head);
  float* parts = run.floats(4 * size, "test");
  std::array<index, 4> order{0, 1, 2, 3};
  do {
    std::ranges::fill(output, 77.0F);
    for (const index part : order) {
      kernels.attend_part(head, 0, part * kSplit, std::min((part + 1) * kSplit, kKeys),
                          parts + part * size, scratch);
    }
    kernels.merge_parts(head, 0, parts, 4, nullptr, 0, scratch);
    EXPECT_TRUE(same_bits(output, expected));
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
