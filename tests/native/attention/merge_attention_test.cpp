#include "attn/attention/merge_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "allocation.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "shape.hpp"

namespace {

using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using ::testing::Each;
using Values = std::vector<float>;

/// Outputs (B, H, N, Dv) and their log-sum-exps.
struct Part {
  Values output, log_sum_exp;
};

class MergeAttentionTest : public attn_test::EveryInstructionSet {
 protected:
  Part merge(const Part& a, const Part& b, const Shape& shape, Layout layout = Layout::kContiguous,
             int threads = 2) {
    const Shape rows(shape.begin(), shape.end() - 1);
    const FloatTensor output_a(shape, a.output, layout), sum_a(rows, a.log_sum_exp, layout);
    const FloatTensor output_b(shape, b.output, layout), sum_b(rows, b.log_sum_exp, layout);
    FloatTensor output = FloatTensor::filled(shape, 77, layout);
    FloatTensor sum = FloatTensor::filled(rows, 77, layout);
    attn::merge_attention(output_a.view(), sum_a.view(), output_b.view(), sum_b.view(),
                          output.view(), sum.view(), context(threads));
    EXPECT_TRUE(output.gaps_are_untouched());
    EXPECT_TRUE(sum.gaps_are_untouched());
    return {output.values(), sum.values()};
  }

  void expect_exact(const Part& a, const Part& b, const Shape& shape) {
    const Part got = merge(a, b, shape);
    const std::int64_t width = shape.back();
    reference::Array exact(shape), error(shape);
    Shape rows(shape.begin(), shape.end() - 1);
    reference::Array sum(rows), sum_error(rows);
    for (std::size_t i = 0; i < a.log_sum_exp.size(); ++i) {
      const double of_a = a.log_sum_exp[i], of_b = b.log_sum_exp[i];
      const double max = std::max(of_a, of_b);
      sum.values[i] = max + std::log(std::exp(of_a - max) + std::exp(of_b - max));
      sum_error.values[i] = 6e-8 * std::abs(sum.values[i]) + 3e-7;
      const double weight_a = std::exp(of_a - sum.values[i]);
      const double weight_b = std::exp(of_b - sum.values[i]);
      for (std::int64_t c = 0; c < width; ++c) {
        const std::size_t at = i * static_cast<std::size_t>(width) + static_cast<std::size_t>(c);
        const double x = a.output[at], y = b.output[at];
        exact.values[at] = weight_a * x + weight_b * y;
        error.values[at] = (5e-7 + 1.2e-7 * std::abs(of_a - of_b) * std::min(weight_a, weight_b)) *
                           std::max(std::abs(x), std::abs(y));
      }
    }
    EXPECT_TRUE(is_within(got.output, exact, error)) << ::testing::PrintToString(shape);
    EXPECT_TRUE(is_within(got.log_sum_exp, sum, sum_error)) << ::testing::PrintToString(shape);
  }

  static Part random_part(const Shape& shape, Random& random, float spread) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    return {random.normals(rows * shape.back()), random.normals(rows, spread)};
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(MergeAttentionTest);

TEST_P(MergeAttentionTest, follows_the_equation) {
  Random random;
  for (const Shape& shape : {Shape{1, 1},
                             {7, 3},
                             {65, 16},
                             {2, 63, 17},
                             {2, 3, 64, 33},
                             {1, 2, 129, 64},
                             {3, 2, 5, 70}}) {
    for (const float spread : {0.1F, 3.0F, 60.0F}) {
      expect_exact(random_part(shape, random, spread), random_part(shape, random, spread), shape);
    }
  }
}

TEST_P(MergeAttentionTest, parts_of_a_sequence_give_the_whole_in_any_grouping) {
  Random random;
  constexpr std::int64_t kHeads = 2, kQueries = 37, kKeys = 203, kDim = 19;
  const Values query = random.normals(kHeads * kQueries * kDim);
  const Values key = random.normals(kHeads * kKeys * kDim);
  const Values value = random.normals(kHeads * kKeys * kDim);
  const attn::ConstTensor q(query.data(), {1, kHeads, kQueries, kDim});
  const attn::ConstTensor k(key.data(), {1, kHeads, kKeys, kDim});
  const attn::ConstTensor v(value.data(), {1, kHeads, kKeys, kDim});
  for (const bool causal : {false, true}) {
    const auto attend = [&](std::int64_t begin, std::int64_t end) {
      Part part{Values(query.size()), Values(kHeads * kQueries)};
      attn::AttentionOptions options{.causal = causal};
      // In the whole sequence, query i attends to the keys j ≤ 100 + i.
      options.diagonal = attn::Diagonal::offset(100 - begin);
      options.log_sum_exp = {part.log_sum_exp.data(), {1, kHeads, kQueries}};
      attn::scaled_dot_product_attention(q, k.slice(2, begin, end), v.slice(2, begin, end),
                                         {part.output.data(), {1, kHeads, kQueries, kDim}}, options,
                                         context());
      return part;
    };
    const Shape shape{1, kHeads, kQueries, kDim};
    const Part whole = attend(0, kKeys);
    const Part a = attend(0, 64), b = attend(64, 65), c = attend(65, 150), d = attend(150, kKeys);
    const Part from_left = merge(merge(merge(a, b, shape), c, shape), d, shape);
    const Part in_pairs = merge(merge(a, b, shape), merge(c, d, shape), shape);
    const Part from_right = merge(merge(d, c, shape), merge(b, a, shape), shape);
    for (const Part& got : {from_left, in_pairs, from_right}) {
      EXPECT_TRUE(is_within(got.output, reference::Array(shape, whole.output), 5e-6));
      EXPECT_TRUE(is_within(got.log_sum_exp,
                            reference::Array({1, kHeads, kQueries}, whole.log_sum_exp), 2e-6));
    }
  }
}

TEST_P(MergeAttentionTest, a_part_with_nothing_to_attend_to_is_not_read) {
  Random random;
  const Shape shape{2, 5, 21};
  const Part some = random_part(shape, random, 5);
  const Part none{Values(some.output.size(), kNaN), Values(some.log_sum_exp.size(), -kInfinity)};
  for (const Part& got : {merge(some, none, shape), merge(none, some, shape)}) {
    EXPECT_TRUE(same_bits(got.output, some.output));
    EXPECT_TRUE(same_bits(got.log_sum_exp, some.log_sum_exp));
  }
  const Part nothing = merge(none, none, shape);
  EXPECT_THAT(nothing.output, Each(0.0F));
  EXPECT_THAT(nothing.log_sum_exp, Each(-kInfinity));
}

TEST_P(MergeAttentionTest, nan_in_a_part_reaches_the_output) {
  const Shape shape{3, 1};
  const Part a{{1, kNaN, 1}, {kNaN, -200, 0}}, b{{2, 2, 2}, {0, 0, kInfinity}};
  const Part got = merge(a, b, shape);
  EXPECT_TRUE(std::isnan(got.output[0]) && std::isnan(got.log_sum_exp[0]));
  // A NaN in a part's output is kept no matter how small the part's weight is.
  EXPECT_TRUE(std::isnan(got.output[1]));
  EXPECT_EQ(got.log_sum_exp[1], 0.0F);
  // The weight of an infinite score is NaN, as in attention over all keys at once.
  EXPECT_TRUE(std::isnan(got.output[2]));
}

TEST_P(MergeAttentionTest, any_layout_and_number_of_threads_give_the_same_bits) {
  Random random;
  const Shape shape{2, 3, 130, 37};
  const Part a = random_part(shape, random, 4), b = random_part(shape, random, 4);
  const Part one = merge(a, b, shape, Layout::kContiguous, 1);
  for (const int threads : {2, 3}) {
    const Part got = merge(a, b, shape, Layout::kContiguous, threads);
    EXPECT_TRUE(same_bits(got.output, one.output));
    EXPECT_TRUE(same_bits(got.log_sum_exp, one.log_sum_exp));
  }
  for (const Layout layout : {Layout::kHeadsInside, Layout::kSpread, Layout::kReversed}) {
    const Part got = merge(a, b, shape, layout);
    EXPECT_TRUE(is_within(got.output, reference::Array(shape, one.output), 1e-6));
    EXPECT_TRUE(same_bits(got.log_sum_exp, one.log_sum_exp));
  }
  // The output may overwrite either of the two parts.
  for (const bool first : {true, false}) {
    Part x = a, y = b;
    Part& to = first ? x : y;
    const auto view = [&](const Values& of) {
      return attn::ConstTensor(of.data(), std::span<const std::int64_t>(shape));
    };
    const auto sums = [](const Values& of) { return attn::ConstTensor(of.data(), {2, 3, 130}); };
    attn::merge_attention(view(x.output), sums(x.log_sum_exp), view(y.output), sums(y.log_sum_exp),
                          {to.output.data(), {2, 3, 130, 37}}, {to.log_sum_exp.data(), {2, 3, 130}},
                          context());
    EXPECT_TRUE(same_bits(to.output, one.output));
    EXPECT_TRUE(same_bits(to.log_sum_exp, one.log_sum_exp));
  }
}

TEST_P(MergeAttentionTest, empty_tensors_are_accepted) {
  EXPECT_TRUE(merge({{}, {}}, {{}, {}}, {0, 3}).output.empty());
  const Part got = merge({{}, {0, 0}}, {{}, {0, 1}}, {2, 0});
  EXPECT_NEAR(got.log_sum_exp[0], std::log(2.0), 1e-6);
}

TEST_P(MergeAttentionTest, a_steady_loop_of_calls_allocates_nothing) {
  attn::OwnedTensor x({2, 70, 8}), sum({2, 70});
  attn_test::expect_no_allocations(
      [&] { attn::merge_attention(x, sum, x, sum, x, sum, context()); });
}

TEST(MergeAttentionErrorTest, shapes) {
  const attn::OwnedTensor x({2, 3, 4}), sum({2, 3}), other({2, 3, 5});
  attn::OwnedTensor out({2, 3, 4}), sums({2, 3}), turned({2, 4, 3});
  std::ranges::fill(out.values(), 5.0F);
  const auto error = [&](const attn::ConstTensor& a, const attn::ConstTensor& sum_a,
                         const attn::ConstTensor& b, const attn::Tensor& to,
                         const attn::Tensor& sum_to) {
    return error_of([&] { attn::merge_attention(a, sum_a, b, sum, to, sum_to); });
  };
  EXPECT_EQ(error(sum.view().select(0, 0), sum, x, out, sums),
            "shape_mismatch: output_a: got shape (3), needs (N, Dv), (B, N, Dv) or (B, H, N, Dv)");
  EXPECT_EQ(error(x, x, x, out, sums),
            "shape_mismatch: log_sum_exp_a: got shape (2, 3, 4), needs shape (2, 3)");
  EXPECT_EQ(error(x, sum, other, out, sums),
            "shape_mismatch: output_b: got shape (2, 3, 5), needs shape (2, 3, 4)");
  EXPECT_EQ(error(x, sum, x, turned, sums),
            "shape_mismatch: output: got shape (2, 4, 3), needs shape (2, 3, 4)");
  EXPECT_EQ(error(x, sum, x, out, out),
            "shape_mismatch: log_sum_exp: got shape (2, 3, 4), needs shape (2, 3)");
  EXPECT_EQ(error(x, {nullptr, {2, 3}}, x, out, sums),
            "invalid_argument: log_sum_exp_a: got a null pointer, needs data");
  EXPECT_THAT(std::vector<float>(out.values().begin(), out.values().end()), Each(5.0F));
}

}  // namespace
