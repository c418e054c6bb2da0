// Keys are processed in tiles. These tests use numbers of keys around multiples of the tile sizes.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "attention/attention_problem.hpp"
#include "every_instruction_set.hpp"

namespace {

using attn_test::AttentionProblem;
using attn_test::Random;

class AttentionTilesTest : public attn_test::EveryInstructionSet {
 protected:
  void expect_matches_reference(const AttentionProblem& problem) const {
    attn_test::expect_matches_reference(problem, context());
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(AttentionTilesTest);

TEST_P(AttentionTilesTest, matches_the_reference_around_the_ends_of_tiles) {
  Random random;
  for (const std::int64_t num_keys : {17, 63, 64, 65, 127, 128, 129, 191, 257}) {
    SCOPED_TRACE("num_keys " + std::to_string(num_keys));
    AttentionProblem p({.num_queries = 49, .num_keys = num_keys, .head_dim = 13, .value_dim = 17},
                       random);
    expect_matches_reference(p);
    p.causal = true;
    p.diagonal = attn::Diagonal::bottom_right();
    expect_matches_reference(p);
  }
}

TEST_P(AttentionTilesTest, matches_the_reference_with_every_term) {
  Random random;
  AttentionProblem p = attn_test::grouped_problem(random);
  p.window = attn::Window{.left = 100, .right = 30};
  expect_matches_reference(p);
  p.valid_lens = {299, 120};
  p.sinks = random.normals(p.sizes.query_heads);
  p.dropout = 0.3F;
  expect_matches_reference(p);
  p.softcap = 20;
  p.bias_shape = p.score_shape();
  p.bias = random.normals(AttentionProblem::count(p.bias_shape));
  p.mask_shape = p.score_shape();
  for (std::int64_t i = 0; i < AttentionProblem::count(p.mask_shape); ++i) {
    p.mask.push_back(random.chance(0.8));
  }
  p.max_distance = 5;
  p.relative_keys = random.normals(11 * p.sizes.head_dim);
  p.relative_values = random.normals(11 * p.sizes.value_dim);
  expect_matches_reference(p);
}

TEST_P(AttentionTilesTest, excluded_values_that_are_not_finite_do_no_harm) {
  Random random;
  AttentionProblem p({.num_queries = 50, .num_keys = 200, .head_dim = 8, .value_dim = 8}, random);
  p.valid_lens = {150};
  for (std::size_t i = 150 * 8; i < p.value.size(); ++i) {
    p.value[i] = std::numeric_limits<float>::quiet_NaN();
  }
  expect_matches_reference(p);
}

}  // namespace
