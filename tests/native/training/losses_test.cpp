// Tests cross entropy and squared error: compares values and gradients with results in double
// precision.

#include "attn/training/losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "training/values.hpp"

namespace {

using attn::CrossEntropyOptions;
using attn::LossReduction;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::HostTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::values;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

using LossesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(LossesTest);

struct Expected {
  double loss = 0;
  reference::Array gradient;
  reference::Array error;  ///< bound that the header states
};

/// Computes the loss as PyTorch defines it, in double precision.
Expected expect(const std::vector<float>& logits, std::int64_t classes, const Ids& targets,
                const CrossEntropyOptions& options) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  Expected result{0, reference::Array({rows, classes}), reference::Array({rows, classes})};
  const auto counted =
      static_cast<double>(rows - std::count(targets.begin(), targets.end(), options.ignore_index));
  const double divisor = options.reduction == LossReduction::kMean ? counted : 1;
  const double s = options.label_smoothing;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (targets[i] == options.ignore_index) continue;
    const float* x = logits.data() + i * classes;
    const double largest = *std::max_element(x, x + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    const double lse = largest + std::log(sum);
    for (std::int64_t c = 0; c < classes; ++c) {
      const double is_target = c == targets[i] ? 1 : 0;
      const double share = (1 - s) * is_target + s / static_cast<double>(classes);
      if (share > 0) result.loss += share * (lse - x[c]) / divisor;
      const double probability = std::exp(x[c] - lse);
      result.gradient.values[i * classes + c] = (probability - share) / divisor;
      result.error.values[i * classes + c] = (2e-6 * probability + 3e-7) / divisor;
    }
  }
  return result;
}

TEST_P(LossesTest, cross_entropy_has_the_value_and_the_gradient_of_double_precision) {
  Random random;
  for (const std::int64_t classes : {1, 2, 3, 7, 15, 16, 17, 31, 64, 67, 257, 5003}) {
    const std::int64_t rows = classes > 1000 ? 5 : 13;
    CrossEntropyOptions options;
    options.label_smoothing = random.pick<float>({0, 0.1F, 1});
    options.reduction = random.pick<LossReduction>({LossReduction::kMean, LossReduction::kSum});
    options.ignore_index = random.pick<std::int64_t>({-100, 0});
    const std::vector<float> logits =
        random.normals(rows * classes, random.pick<float>({0.1F, 3, 30}));
    Ids targets(static_cast<std::size_t>(rows));
    for (auto& target : targets) target = random.integer(0, classes - 1);
    if (classes == 1) options.ignore_index = -100;
    targets[2] = options.ignore_index;
    targets[3] = classes - 1;
    const Expected want = expect(logits, classes, targets, options);

    attn::Tape tape(context());
    const Variable x = tape.variable(attn::ConstTensor(logits.data(), {rows, classes}));
    const Variable loss = attn::cross_entropy(x, targets, options);
    EXPECT_EQ(loss.rank(), 0);
    const double bound = 2e-6 * (options.reduction == LossReduction::kSum ? 13 : 1);
    EXPECT_NEAR(loss.item(), want.loss, bound + 1e-7 * std::abs(want.loss)) << classes;
    EXPECT_TRUE(
        same_bits({attn::cross_entropy(attn::ConstTensor(logits.data(), {rows, classes}),
                                       attn::IdView(targets.data(), {rows}), options, context())},
                  {loss.item()}));
    OwnedTensor gradient({rows, classes});
    EXPECT_TRUE(same_bits({attn::cross_entropy_with_gradient(
                              attn::ConstTensor(logits.data(), {rows, classes}),
                              attn::IdView(targets.data(), {rows}), gradient, options, context())},
                          {loss.item()}));
    tape.backward(loss);
    EXPECT_TRUE(is_within(values(x.gradient()), want.gradient, want.error)) << classes;
    EXPECT_TRUE(same_bits(values(gradient), values(x.gradient())));
  }
}

TEST_P(LossesTest, cross_entropy_takes_logits_of_any_size) {
  const float most = std::numeric_limits<float>::max();
  const float none = -std::numeric_limits<float>::infinity();
  attn::Tape tape(context());
  const Variable x = tape.variable(
      OwnedTensor({4, 3}, {most, -most, 0, -most, -most, -most, 88, 1000, 88, 1, none, 1}));
  const Variable loss = attn::cross_entropy(x, Ids{0, 1, 1, 2}, {.reduction = LossReduction::kSum});
  EXPECT_NEAR(loss.item(), std::log(3.0) + std::log(2.0), 4e-6);
  tape.backward(loss);
  const reference::Array want(
      {4, 3}, std::vector<double>{0, 0, 0, 1.0 / 3, -2.0 / 3, 1.0 / 3, 0, 0, 0, 0.5, 0, -0.5});
  EXPECT_TRUE(is_within(values(x.gradient()), want, 1e-6));
}

TEST_P(LossesTest, cross_entropy_takes_batches_strides_and_both_kinds_of_ids) {
  Random random;
  const std::int64_t classes = 19;
  const std::vector<float> logits = random.normals(2 * 3 * classes);
  const Ids targets{3, 18, -100, 0, 7, 7};
  const std::vector<std::int32_t> narrow(targets.begin(), targets.end());
  const auto loss_of = [&](auto&& given) {
    attn::Tape tape(context());
    const Variable x = tape.variable(attn::ConstTensor(logits.data(), {2, 3, classes}));
    return attn::cross_entropy(x, given).item();
  };
  const float want = loss_of(attn::IdView(targets.data(), {2, 3}));
  EXPECT_EQ(loss_of(targets), want);
  EXPECT_EQ(loss_of(narrow), want);
  EXPECT_EQ(loss_of(attn::IdView(narrow.data(), {2, 3})), want);
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const HostTensor<float> x({2, 3, classes}, logits, layout);
    const HostTensor<std::int64_t> ids({2, 3}, targets, layout);
    EXPECT_EQ(attn::cross_entropy(x.view(), ids.view(), {}, context()), want);
    OwnedTensor dense({2, 3, classes});
    HostTensor<float> gradient = HostTensor<float>::filled({2, 3, classes}, 7, layout);
    EXPECT_EQ(attn::cross_entropy_with_gradient(x.view(), ids.view(), dense, {}, context()), want);
    EXPECT_EQ(
        attn::cross_entropy_with_gradient(x.view(), ids.view(), gradient.view(), {}, context()),
        want);
    EXPECT_TRUE(same_bits(gradient.values(), values(dense)));
    EXPECT_TRUE(gradient.gaps_are_untouched());
    // Writes the gradient in place.
    HostTensor<float> same({2, 3, classes}, logits, layout);
    EXPECT_EQ(
        attn::cross_entropy_with_gradient(same.view(), ids.view(), same.view(), {}, context()),
        want);
    EXPECT_TRUE(same_bits(same.values(), values(dense)));
  }
}

TEST_P(LossesTest, gradients_of_losses_that_are_used_twice_or_scaled_add_up) {
  attn::Tape tape(context());
  const OwnedTensor logits({1, 2}, {0, 0});
  const OwnedTensor goal({1, 2}, {1, 0});
  const Variable x = tape.variable(logits);
  const Variable entropy = attn::cross_entropy(x, Ids{1});
  const Variable error = attn::mse_loss(x, goal);
  const Variable sum = entropy + entropy + error;
  const float three = 3;
  tape.backward(sum, attn::ConstTensor(&three, std::span<const std::int64_t>{}));
  EXPECT_THAT(values(x.gradient()), testing::ElementsAre(testing::FloatEq(3 * (2 * 0.5F - 1)),
                                                         testing::FloatEq(3 * (2 * -0.5F))));
}

TEST_P(LossesTest, squared_error_passes_gradients_to_prediction_and_target) {
  Random random;
  for (const std::int64_t size : {1, 3, 17, 8191, 8193, 20'011}) {
    const std::vector<float> a = random.normals(size), b = random.normals(size);
    for (const auto reduction : {LossReduction::kMean, LossReduction::kSum}) {
      attn::Tape tape(context());
      const Variable x = tape.variable(attn::ConstTensor(a.data(), {1, size, 1}));
      const Variable y = tape.variable(attn::ConstTensor(b.data(), {1, size, 1}));
      const Variable loss = attn::mse_loss(x, y, reduction);
      const double divisor = reduction == LossReduction::kMean ? static_cast<double>(size) : 1;
      double want = 0;
      reference::Array gradient({size}), opposite({size}), bound({size});
      for (std::int64_t i = 0; i < size; ++i) {
        const double difference = static_cast<double>(a[i]) - b[i];
        want += difference * difference / divisor;
        gradient.values[i] = 2 * difference / divisor;
        opposite.values[i] = -2 * difference / divisor;
        bound.values[i] = 2e-7 * std::abs(gradient.values[i]);
      }
      EXPECT_NEAR(loss.item(), want, 6e-8 * want);
      EXPECT_EQ(attn::mse_loss(x, attn::ConstTensor(b.data(), {1, size, 1}), reduction).item(),
                loss.item());
      const Layout layout = random.pick<Layout>({Layout::kContiguous, Layout::kSpread});
      const HostTensor<float> prediction({1, size, 1}, a, layout), target({1, size, 1}, b, layout);
      HostTensor<float> plain = HostTensor<float>::filled({1, size, 1}, 7, layout);
      EXPECT_EQ(attn::mse_loss(prediction.view(), target.view(), reduction, context()),
                loss.item());
      EXPECT_EQ(attn::mse_loss_with_gradient(prediction.view(), target.view(), plain.view(),
                                             reduction, context()),
                loss.item());
      tape.backward(loss);
      EXPECT_TRUE(same_bits(plain.values(), values(x.gradient())));
      EXPECT_TRUE(is_within(values(x.gradient()), gradient, bound));
      EXPECT_TRUE(is_within(values(y.gradient()), opposite, bound));
    }
  }
}

TEST_P(LossesTest, bits_do_not_depend_on_the_number_of_threads) {
  Random random;
  const std::int64_t rows = 211, classes = 1009;
  const std::vector<float> logits = random.normals(rows * classes, 4);
  const std::vector<float> goal = random.normals(rows * classes);
  Ids targets(static_cast<std::size_t>(rows));
  for (auto& target : targets) target = random.integer(0, classes - 1);
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 7}) {
    attn::Tape tape(context(threads));
    const Variable x = tape.variable(attn::ConstTensor(logits.data(), {rows, classes}));
    const Variable loss = attn::cross_entropy(x, targets, {.label_smoothing = 0.1F}) +
                          attn::mse_loss(x, attn::ConstTensor(goal.data(), {rows, classes}));
    tape.backward(loss);
    std::vector<float> all = values(x.gradient());
    all.push_back(loss.item());
    if (first.empty()) first = all;
    EXPECT_TRUE(same_bits(all, first)) << threads;
  }
}

TEST_P(LossesTest, errors_explain_the_problem) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({2, 2, 5}));
  const auto error = [&](const Ids& ids, const CrossEntropyOptions& options = {}) {
    return error_of([&] { attn::cross_entropy(x, ids, options); });
  };
  EXPECT_EQ(error({0, 1, 5, 2}),
            "invalid_argument: targets: got 5 at (1, 0), needs an index below 5 (the number of "
            "classes in "
            "logits) or ignore_index (-100)");
  EXPECT_THAT(error({0, -1, 4, 2}), HasSubstr("got -1 at (0, 1)"));
  EXPECT_EQ(error({-100, -100, -100, -100}),
            "invalid_argument: targets: got no target to average over, needs at least one");
  EXPECT_EQ(error({-100, -100, -100, -100}, {.reduction = LossReduction::kSum}), "nothing");
  EXPECT_EQ(error({0, 1, 2}),
            "shape_mismatch: targets: got 3, needs 4, one for each row of logits");
  EXPECT_THAT(error({0, 1, 2, 3}, {.label_smoothing = 1.5F}),
              HasSubstr("label_smoothing: got 1.5"));
  const Ids ids(4);
  EXPECT_THAT(error_of([&] { attn::cross_entropy(x, attn::IdView(ids.data(), {1, 4})); }),
              HasSubstr("targets: got shape (1, 4), needs shape (2, 2)"));
  EXPECT_THAT(error_of([&] { attn::cross_entropy(Variable(), ids); }), HasSubstr("got none"));
  const Variable vector = tape.variable(OwnedTensor({5}));
  EXPECT_THAT(error_of([&] { attn::cross_entropy(vector, ids); }), HasSubstr("logits: got shape"));
  const Variable empty = tape.variable(OwnedTensor({4, 0}));
  EXPECT_THAT(error_of([&] { attn::cross_entropy(empty, ids); }), HasSubstr("at least one class"));
  EXPECT_THAT(error_of([&] { attn::mse_loss(x, vector); }), HasSubstr("target: got shape (5)"));
  EXPECT_THAT(error_of([&] { attn::mse_loss(x, OwnedTensor({5})); }), HasSubstr("target: got"));
  EXPECT_THAT(error_of([&] { attn::mse_loss(empty, empty); }), HasSubstr("at least one element"));

  // Functions without a tape throw the same errors as functions on a tape, and leave the outputs
  // unmodified.
  const OwnedTensor logits({2, 5}), none({0, 5});
  OwnedTensor gradient({2, 5}, std::vector<float>(10, 7)), other({5, 2});
  EXPECT_EQ(
      error_of(
          [&] { attn::cross_entropy_with_gradient(logits, Ids{0, 5}, gradient, {}, context()); }),
      "invalid_argument: targets: got 5 at (1), needs an index below 5 (the number of classes in "
      "logits) or ignore_index (-100)");
  EXPECT_EQ(
      error_of([&] { attn::cross_entropy_with_gradient(logits, Ids{0, 1}, other, {}, context()); }),
      "shape_mismatch: gradient: got shape (5, 2), needs shape (2, 5)");
  EXPECT_THAT(error_of([&] {
                attn::cross_entropy_with_gradient(logits, Ids{0, 1}, attn::Tensor(), {}, context());
              }),
              HasSubstr("gradient: got shape ()"));
  EXPECT_EQ(error_of([&] { attn::mse_loss(logits, other, LossReduction::kMean, context()); }),
            "shape_mismatch: target: got shape (5, 2), needs shape (2, 5)");
  EXPECT_EQ(error_of([&] {
              attn::mse_loss_with_gradient(logits, logits, other, LossReduction::kMean, context());
            }),
            "shape_mismatch: gradient: got shape (5, 2), needs shape (2, 5)");
  EXPECT_THAT(error_of([&] { attn::mse_loss(none, none, LossReduction::kMean, context()); }),
              HasSubstr("at least one element"));
  EXPECT_EQ(attn::mse_loss(none, none, LossReduction::kSum, context()), 0);
  EXPECT_THAT(values(gradient), testing::Each(7));
}

TEST_P(LossesTest, a_steady_loop_allocates_nothing_and_a_failed_allocation_throws_bad_alloc) {
  const OwnedTensor logits({3, 70});
  const OwnedTensor goal({3, 70});
  const Ids targets{1, 2, 3};
  const auto step = [&](attn::Tape& tape) {
    tape.clear();
    const Variable x = tape.variable(logits);
    tape.backward(attn::cross_entropy(x, targets) + attn::mse_loss(x, goal));
  };
  attn::Tape tape(context());
  for (int i = 0; i < 3; ++i) step(tape);
  {
    attn_test::AllocationProbe probe;
    step(tape);
    EXPECT_EQ(probe.count(), 0);
  }
  const int failures = attn_test::out_of_memory_failures([&] {
    attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
    attn::Tape fresh_tape(fresh);
    step(fresh_tape);
  });
  EXPECT_GT(failures, 2);
}

}  // namespace
