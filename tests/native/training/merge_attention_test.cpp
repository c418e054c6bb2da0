#include "attn/attention/merge_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "gradient_check.hpp"
#include "random.hpp"
#include "training/gradients.hpp"

namespace {

using attn::AttentionPart;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::differences;
using attn_test::error_of;
using attn_test::kNaN;
using attn_test::Random;
using attn_test::uniform_tensor;
using attn_test::values;
using ::testing::ElementsAre;

using MergeGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MergeGradientTest);

void expect_near(const attn::ConstTensor& got, const std::vector<double>& exact, double error,
                 const char* name) {
  const std::vector<float> all = values(got);
  ASSERT_EQ(all.size(), exact.size()) << name;
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], exact[i], error) << name << i;
}

/// Runs the backward pass, starting from the gradients of both outputs.
void backward(attn::Tape& tape, const AttentionPart& part, const OwnedTensor& output_gradient,
              const OwnedTensor& log_sum_exp_gradient) {
  std::vector<float> all(output_gradient.values().begin(), output_gradient.values().end());
  const auto flat = [](const Variable& x) {
    return attn::reshape(x, std::array{static_cast<std::int64_t>(values(x.value()).size())});
  };
  const auto more = log_sum_exp_gradient.values();
  all.insert(all.end(), more.begin(), more.end());
  const Variable parts[] = {flat(part.output), flat(part.log_sum_exp)};
  tape.backward(attn::concatenate(parts, 0), {all.data(), {std::ssize(all)}});
}

TEST_P(MergeGradientTest, matches_finite_differences) {
  Random random;
  for (const std::int64_t width : {1, 5, 16, 33}) {
    constexpr std::int64_t kRows = 6;
    const OwnedTensor a = uniform_tensor({2, 3, width}, random);
    const OwnedTensor b = uniform_tensor({2, 3, width}, random);
    const OwnedTensor sum_a = uniform_tensor({2, 3}, random);
    const OwnedTensor sum_b = uniform_tensor({2, 3}, random);
    const OwnedTensor dy = uniform_tensor({2, 3, width}, random);
    const OwnedTensor dsum = uniform_tensor({2, 3}, random);
    // Σ dy·output + Σ dsum·lse as a function of all four inputs, which are concatenated in x.
    const auto loss = [&](const std::vector<double>& x) {
      const double* of_a = x.data();
      const double* of_b = of_a + kRows * width;
      const double* s_a = of_b + kRows * width;
      const double* s_b = s_a + kRows;
      double result = 0;
      for (std::int64_t i = 0; i < kRows; ++i) {
        const double sum = std::log(std::exp(s_a[i]) + std::exp(s_b[i]));
        result += dsum.values()[static_cast<std::size_t>(i)] * sum;
        for (std::int64_t c = i * width; c < (i + 1) * width; ++c) {
          result += dy.values()[static_cast<std::size_t>(c)] *
                    (std::exp(s_a[i] - sum) * of_a[c] + std::exp(s_b[i] - sum) * of_b[c]);
        }
      }
      return result;
    };
    std::vector<double> x;
    for (const OwnedTensor* t : {&a, &b, &sum_a, &sum_b}) {
      x.insert(x.end(), t->values().begin(), t->values().end());
    }
    const std::vector<double> exact = differences(loss, x);
    attn::Tape tape(context());
    const AttentionPart first{tape.variable(a), tape.variable(sum_a)};
    const AttentionPart second{tape.variable(b), tape.variable(sum_b)};
    backward(tape, merge_attention(first, second), dy, dsum);
    std::size_t begin = 0;
    for (const auto& [name, variable] : {std::pair("output_a", &first.output),
                                         {"output_b", &second.output},
                                         {"log_sum_exp_a", &first.log_sum_exp},
                                         {"log_sum_exp_b", &second.log_sum_exp}}) {
      const std::size_t count = values(variable->value()).size();
      const auto from = exact.begin() + static_cast<std::ptrdiff_t>(begin);
      expect_near(variable->gradient(), {from, from + static_cast<std::ptrdiff_t>(count)}, 2e-6,
                  name);
      begin += count;
    }
  }
}

/// Computes the gradients of query, key and value once by merging parts of the keys and once by
/// attending to all keys, and compares the results.
TEST_P(MergeGradientTest, parts_have_the_gradients_of_the_whole) {
  Random random;
  const OwnedTensor query = uniform_tensor({2, 4, 9, 8}, random);
  const OwnedTensor key = uniform_tensor({2, 2, 21, 8}, random);
  const OwnedTensor value = uniform_tensor({2, 2, 21, 5}, random);
  const OwnedTensor sinks = uniform_tensor({4}, random);
  const OwnedTensor dy = uniform_tensor({2, 4, 9, 5}, random);
  const OwnedTensor dsum = uniform_tensor({2, 4, 9}, random);
  for (const bool of_output : {true, false}) {
    std::vector<std::vector<float>> gradients[2];
    for (const bool whole : {true, false}) {
      attn::Tape tape(context());
      const Variable q = tape.variable(query), k = tape.variable(key), v = tape.variable(value);
      const Variable s = tape.variable(sinks);
      // Query i attends to the keys j ≤ 2 + i, so the first queries attend to nothing in the last
      // part of the keys.
      const auto attend = [&](std::int64_t begin, std::int64_t end) {
        AttentionPart part;
        attn::AttentionOptions options{.causal = true};
        options.diagonal = attn::Diagonal::offset(2 - begin);
        part.output = attn::scaled_dot_product_attention(
            q, attn::slice(k, 2, begin, end), attn::slice(v, 2, begin, end), options,
            {.sinks = begin == 0 ? s : Variable()}, {.log_sum_exp = &part.log_sum_exp});
        return part;
      };
      const AttentionPart all =
          whole ? attend(0, 21)
                : merge_attention(merge_attention(attend(0, 4), attend(4, 10)), attend(10, 21));
      if (of_output) {
        backward(tape, all, dy, dsum);
      } else {
        tape.backward(all.log_sum_exp, dsum);
      }
      for (const Variable* x : {&q, &k, &v, &s}) {
        gradients[whole ? 0 : 1].push_back(values(x->gradient()));
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < gradients[0][i].size(); ++j) {
        EXPECT_NEAR(gradients[0][i][j], gradients[1][i][j], 2e-6) << of_output << i << ' ' << j;
      }
    }
  }
}

TEST_P(MergeGradientTest, the_gradient_of_the_log_sum_exp_matches_finite_differences) {
  Random random;
  const OwnedTensor query = uniform_tensor({3, 4}, random), key = uniform_tensor({5, 4}, random);
  const OwnedTensor dsum = uniform_tensor({3}, random);
  const auto loss = [&](const std::vector<double>& x) {
    double result = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        double score = 0;
        for (std::size_t d = 0; d < 4; ++d) score += x[4 * i + d] * x[12 + 4 * j + d];
        sum += std::exp(score / 2);
      }
      result += dsum.values()[i] * std::log(sum);
    }
    return result;
  };
  std::vector<double> x(query.values().begin(), query.values().end());
  x.insert(x.end(), key.values().begin(), key.values().end());
  const std::vector<double> exact = differences(loss, x);
  attn::Tape tape(context());
  const Variable q = tape.variable(query), k = tape.variable(key);
  Variable sum;
  attn::scaled_dot_product_attention(q, k, k, {}, {}, {.log_sum_exp = &sum});
  tape.backward(attn::reshape(sum, std::array<std::int64_t, 1>{3}), dsum);
  expect_near(q.gradient(), {exact.begin(), exact.begin() + 12}, 2e-6, "query");
  expect_near(k.gradient(), {exact.begin() + 12, exact.end()}, 2e-6, "key");
}

TEST_P(MergeGradientTest, nothing_of_a_part_that_is_not_read_reaches_a_gradient) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  attn::Tape tape(context());
  const AttentionPart some{tape.variable(OwnedTensor({1, 2}, {1, 2})),
                           tape.variable(OwnedTensor({1}, {3}))};
  const AttentionPart none{tape.variable(OwnedTensor({1, 2}, {kNaN, kNaN})),
                           tape.variable(OwnedTensor({1}, {kNothing}))};
  backward(tape, merge_attention(none, some), OwnedTensor({1, 2}, {5, 7}), OwnedTensor({1}, {11}));
  EXPECT_THAT(values(some.output.gradient()), ElementsAre(5, 7));
  EXPECT_THAT(values(some.log_sum_exp.gradient()), ElementsAre(11));
  EXPECT_THAT(values(none.output.gradient()), ElementsAre(0, 0));
  EXPECT_THAT(values(none.log_sum_exp.gradient()), ElementsAre(0));
}

TEST_P(MergeGradientTest, is_steady) {
  Random random;
  const OwnedTensor x = uniform_tensor({2, 3, 70, 8}, random),
                    sum = uniform_tensor({2, 3, 70}, random);
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    const AttentionPart a{tape.variable(x), tape.variable(sum)};
    const AttentionPart b{tape.variable(x), tape.variable(sum)};
    const AttentionPart merged = merge_attention(merge_attention(a, b), a);
    tape.backward(merged.output, x);
    return attn_test::Results{values(merged.output.value()), values(a.output.gradient()),
                              values(a.log_sum_exp.gradient()), values(b.output.gradient())};
  };
  attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); }, pass);
}

TEST(MergeGradientErrorTest, shapes_and_tapes) {
  attn::Tape tape, other;
  const OwnedTensor x({2, 3}), sum({2});
  const AttentionPart part{tape.variable(x), tape.variable(sum)};
  EXPECT_EQ(error_of([&] { merge_attention(part, {part.log_sum_exp, part.log_sum_exp}); }),
            "shape_mismatch: output_b: got shape (2), needs shape (2, 3)");
  EXPECT_EQ(
      error_of([&] { merge_attention(part, {other.variable(x), other.variable(sum)}); }),
      "invalid_argument: merge_attention: got variables from two tapes, needs variables from one "
      "tape");
  EXPECT_EQ(error_of([&] { merge_attention(part, {}); }),
            "invalid_argument: variable: got none, needs one that a tape created");
}

}  // namespace
