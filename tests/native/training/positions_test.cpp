// Tests gradients of operations that encode positions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/array.hpp"
#include "reference/rotary_embedding.hpp"
#include "training/gradients.hpp"

namespace {

using attn::ConstTensor;
using attn::Dropout;
using attn::LearnedPositionalEncoding;
using attn::PositionalEncoding;
using attn::RotaryEmbedding;
using attn::RotaryPairing;
using attn::RotaryPositions;
using attn::Tensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::values;
using reference::Array;

const Dropout kPositionDropout{.probability = 0.25F, .training = true, .random = {5, 6}};

using PositionsGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(PositionsGradientTest);

TEST_P(PositionsGradientTest, a_learned_table_gets_the_sum_over_the_batch) {
  Random random;
  for (const std::int64_t width : {1, 3, 16, 17, 33}) {
    const std::int64_t batch = random.integer(1, 5), rows = random.integer(1, 9), start = 2;
    LearnedPositionalEncoding positions(12, width);
    positions.initialize_normal(1, 1, context());
    const std::vector<float> x = random.normals(batch * rows * width);
    const std::vector<float> dy = random.normals(batch * rows * width);
    const std::initializer_list<std::int64_t> shape{batch, rows, width};
    attn::Tape tape(context());
    const Variable in = tape.variable({x.data(), shape});
    const Variable out = positions.forward(in, start);
    std::vector<float> y(x.size());
    positions.forward(in.value(), {y.data(), shape}, start, {}, context());
    EXPECT_TRUE(same_bits(values(out.value()), y));
    tape.backward(out, {dy.data(), shape});
    EXPECT_TRUE(same_bits(values(in.gradient()), dy));
    Array exact({12, width}), error({12, width});
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < width; ++c) {
          const double v = dy[static_cast<std::size_t>((b * rows + i) * width + c)];
          exact.at({start + i, c}) += v;
          error.at({start + i, c}) += 6 * 6e-8 * std::abs(v);
        }
      }
    }
    EXPECT_TRUE(is_within(values(tape.gradient(positions, "weight")), exact, error));
  }
}

TEST_P(PositionsGradientTest, a_table_used_twice_gets_the_sum_of_both) {
  const LearnedPositionalEncoding positions(3, 1);
  attn::Tape tape(context());
  const attn::OwnedTensor x({2, 1}, {1, 2});
  const Variable first = positions.forward(tape.variable(x));
  const Variable sum = first + positions.forward(tape.variable(x), 1);
  tape.backward(sum, attn::OwnedTensor({2, 1}, {1, 10}));
  EXPECT_THAT(values(tape.gradient(positions, "weight")), ::testing::ElementsAre(1, 11, 10));
}

TEST_P(PositionsGradientTest, gradients_go_through_dropout_and_the_encoding) {
  Random random;
  const std::vector<float> x = random.normals(2 * 7 * 5), dy = random.normals(2 * 7 * 5);
  const std::initializer_list<std::int64_t> shape{2, 7, 5};
  LearnedPositionalEncoding learned(20, 5);
  learned.initialize_normal(3);
  const PositionalEncoding fixed;
  std::vector<float> y(x.size()), dx(x.size());
  attn::apply_dropout({dy.data(), shape}, {dx.data(), shape}, kPositionDropout, context());
  attn::Tape tape(context());
  const auto check = [&](const auto& layer) {
    tape.clear();
    const Variable in = tape.variable({x.data(), shape});
    const Variable out = layer.forward(in, 4, kPositionDropout);
    layer.forward(in.value(), {y.data(), shape}, 4, kPositionDropout, context());
    EXPECT_TRUE(same_bits(values(out.value()), y));
    tape.backward(out, {dy.data(), shape});
    EXPECT_TRUE(same_bits(values(in.gradient()), dx));
  };
  check(learned);
  check(fixed);
}

TEST_P(PositionsGradientTest, drawing_a_table_counts_as_a_change) {
  LearnedPositionalEncoding positions(3, 2);
  attn::Tape tape(context());
  const std::vector<float> x(4, 1.0F);
  const Variable y = positions.forward(tape.variable({x.data(), {2, 2}}));
  positions.initialize_normal(1);
  EXPECT_THAT(error_of([&] { tape.backward(y, {x.data(), {2, 2}}); }),
              ::testing::StartsWith("invalid_argument: weight: got a change"));
}

/// The exact gradient of a rotation is the rotation by the opposite angles, with the same factor.
TEST_P(PositionsGradientTest, rotary_embedding_rotates_back) {
  Random random;
  for (const RotaryPairing pairing : {RotaryPairing::kHalfSplit, RotaryPairing::kInterleaved}) {
    for (const bool yarn : {false, true}) {
      attn::RotaryEmbeddingOptions options{.rotary_dim = 6, .pairing = pairing};
      if (yarn) options.scaling = attn::YarnRotaryScaling{.factor = 4};
      const RotaryEmbedding rotary(options);
      const double a = rotary.attention_factor();
      const std::int64_t batch = 2, heads = 3, rows = 19, dim = 8;
      const std::vector<float> x = random.normals(batch * heads * rows * dim);
      const std::vector<float> dy = random.normals(batch * heads * rows * dim);
      std::vector<double> ids(batch * rows);
      for (double& id : ids) id = random.unit() * 1000 - 500;
      for (const bool per_batch : {false, true}) {
        RotaryPositions positions{.start = 5};
        std::vector<double> wanted(rows);
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = 5 + static_cast<double>(i);
        if (per_batch) {
          wanted = ids;
          positions.positions = {ids.data(), {batch, rows}};
        }
        std::vector<long double> frequencies;
        for (const double f : rotary.frequencies()) frequencies.push_back(f);
        auto [exact, error] = reference::rotary_embedding(
            reference::RotaryEmbedding{Array({batch, heads, rows, dim}, dy), wanted, frequencies,
                                       pairing == RotaryPairing::kInterleaved, a, true});
        for (double& e : error.values) e *= a * 2e-7;
        const std::initializer_list<std::int64_t> shape{batch, heads, rows, dim};
        attn::Tape tape(context());
        const Variable in = tape.variable({x.data(), shape});
        const Variable out = rotary.forward(in, positions);
        std::vector<float> y(x.size());
        rotary.forward(in.value(), {y.data(), shape}, positions, context());
        EXPECT_TRUE(same_bits(values(out.value()), y));
        tape.backward(out, {dy.data(), shape});
        EXPECT_TRUE(is_within(values(in.gradient()), exact, error));
        tape.clear();
        const Variable constant = tape.constant({x.data(), shape});
        EXPECT_TRUE(same_bits(values(rotary.forward(constant, positions).value()), y));
      }
    }
  }
}

TEST_P(PositionsGradientTest, heads_may_be_side_by_side) {
  Random random;
  const std::vector<float> x = random.normals(2 * 5 * 12), dy = random.normals(2 * 5 * 12);
  const RotaryEmbedding rotary({.rotary_dim = 4});
  attn::Tape tape(context());
  const Variable in = tape.variable({x.data(), {2, 5, 12}});
  const Variable out = rotary.forward(in, {.start = 3}, 3);
  tape.backward(out, {dy.data(), {2, 5, 12}});
  std::vector<float> y(x.size()), dx(x.size());
  const auto split = [](std::vector<float>& v) {
    return Tensor(v.data(), {2, 5, 12}).split_heads(3);
  };
  rotary.forward(ConstTensor(x.data(), {2, 5, 12}).split_heads(3), split(y), {.start = 3},
                 context());
  rotary.forward(ConstTensor(dy.data(), {2, 5, 12}).split_heads(3), split(dx),
                 {.start = 3, .inverse = true}, context());
  EXPECT_TRUE(same_bits(values(out.value()), y));
  EXPECT_TRUE(same_bits(values(in.gradient()), dx));
}

TEST_P(PositionsGradientTest, bits_and_memory_are_steady) {
  Random random;
  const std::int64_t width = 24;
  const std::vector<float> x = random.normals(3 * 130 * width),
                           dy = random.normals(3 * 130 * width);
  const std::initializer_list<std::int64_t> shape{3, 130, width};
  const LearnedPositionalEncoding learned(140, width);
  const PositionalEncoding fixed;
  const RotaryEmbedding rotary({.rotary_dim = 8});
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    const Variable in = tape.variable({x.data(), shape});
    tape.backward(rotary.forward(learned.forward(fixed.forward(in, 3, kPositionDropout), 7), {}, 2),
                  {dy.data(), shape});
    return in;
  };
  attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                           [&](attn::Tape& tape) -> Results {
                             const Variable in = pass(tape);
                             return {values(in.gradient()),
                                     values(tape.gradient(learned, "weight"))};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) { pass(tape); });
}

TEST(PositionsGradientErrorTest, invalid_arguments_are_rejected) {
  attn::Tape tape;
  const std::vector<float> values(12, 1.0F);
  const Variable x = tape.variable({values.data(), {3, 4}});
  EXPECT_EQ(error_of([&] { LearnedPositionalEncoding(2, 4).forward(x); }),
            "invalid_argument: x: got length 3 starting at position 0, needs to fit within "
            "max_length (2)");
  EXPECT_EQ(error_of([&] { LearnedPositionalEncoding(2, 3).forward(x); }),
            "shape_mismatch: x: got shape (3, 4), needs shape (any, 3)");
  EXPECT_THAT(error_of([&] { PositionalEncoding().forward(x, 0, {.probability = 2}); }),
              ::testing::StartsWith("invalid_argument: dropout: got 2"));
  EXPECT_THAT(error_of([&] { PositionalEncoding().forward(tape.variable({values.data(), {3}})); }),
              ::testing::StartsWith("shape_mismatch: x: got shape (3)"));
  const RotaryEmbedding rotary({.rotary_dim = 4});
  EXPECT_THAT(error_of([&] { rotary.forward(tape.variable({values.data(), {3}})); }),
              ::testing::StartsWith("shape_mismatch: x: got shape (3)"));
  EXPECT_EQ(
      error_of([&] { rotary.forward(x, {}, 3); }),
      "shape_mismatch: x: got shape (3, 4), needs (N, E) or (B, N, E), with a width E that is "
      "a multiple of 3, the number of heads");
  EXPECT_EQ(error_of([&] { rotary.forward(x, {}, 2); }),
            "shape_mismatch: x: got shape (1, 2, 3, 2), needs at least 4 columns in its last "
            "dimension, because that many are rotated");
  EXPECT_EQ(error_of([&] { rotary.forward(x, {}, 0); }),
            "invalid_argument: num_heads: got 0, needs 1 or more");
  const std::vector<double> ids(2);
  EXPECT_EQ(error_of([&] { rotary.forward(x, {.positions = {ids.data(), {2}}}); }),
            "shape_mismatch: positions: got shape (2), needs shape (3)");
}

}  // namespace
