// Tests masked softmax, attention pooling and additive attention on a tape. Outputs must be
// bit-identical to the outputs without a tape, and gradients must match the analytic reference in
// double precision.

#include "attn/training/pooling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/training/functions.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/masked_softmax.hpp"
#include "reference/scalar.hpp"
#include "training/close.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::AdditiveAttention;
using attn::AttentionPoolingOptions;
using attn::ConstTensor;
using attn::OwnedTensor;
using attn::ScoringFunction;
using attn::Variable;
using attn_test::array_of;
using attn_test::error_of;
using attn_test::expect_close;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using reference::ArrayOf;
using reference::Bounded;
using reference::PoolingScore;
using reference::Scalar;
using ::testing::Each;
using ::testing::ElementsAre;

using TapedPoolingTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedPoolingTest);

/// Checks both the reference's first-order bound and the bound for stacks of layers.
void expect_within(const ConstTensor& got, const Bounded& wanted, const std::string& name) {
  expect_close(got, wanted.exact.values, name);
  EXPECT_TRUE(is_within(values(got), wanted.exact, wanted.error)) << name;
}

/// Adds the gradient from another entry of the batch.
void add(Bounded& sum, const Bounded& more) {
  if (sum.exact.values.empty()) {
    sum = more;
    return;
  }
  for (std::size_t i = 0; i < more.exact.values.size(); ++i) {
    sum.exact.values[i] += more.exact.values[i];
    sum.error.values[i] += more.error.values[i] + 6e-8 * std::abs(sum.exact.values[i]);
  }
}

TEST_P(TapedPoolingTest, masked_softmax_has_the_gradient_of_the_reference) {
  Random random;
  for (const std::int64_t cols : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 67, 1031}) {
    OwnedTensor x = uniform_tensor({2, 3, cols}, random);
    const OwnedTensor dw = uniform_tensor({2, 3, cols}, random);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(6 * cols));
    std::vector<bool> taking_part(mask.size());
    for (std::size_t i = 0; i < mask.size(); ++i) {
      mask[i] = random.uniform(0, 1) < 0.8F ? 1 : 0;
      if (i < static_cast<std::size_t>(cols)) mask[i] = 0;  // nothing in this row takes part
      taking_part[i] = mask[i] != 0;
      if (mask[i] == 0) x.values()[i] = i % 2 == 0 ? kNaN : kInfinity;
    }
    const attn::MaskedSoftmaxOptions options{.mask = {mask.data(), {2, 3, cols}}};
    OwnedTensor forward({2, 3, cols});
    attn::masked_softmax(x, forward, options, context());
    attn::Tape tape(context());
    const Variable in = tape.variable(x);
    const Variable w = attn::masked_softmax(in, options);
    EXPECT_TRUE(same_bits(values(w.value()), values(forward)));
    tape.backward(w, dw);

    reference::Tape exact;
    reference::Array plain = array_of(x);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] == 0) plain.values[i] = 0;
    }
    const ArrayOf<Scalar> from = exact.variables(plain);
    exact.backward(
        reference::inner(reference::masked_softmax(from, taking_part).exact, array_of(dw)));
    expect_within(in.gradient(), exact.gradient(from), "x");
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] == 0) {
        EXPECT_EQ(values(in.gradient())[i], 0.0F);
      }
    }
  }
}

TEST_P(TapedPoolingTest, excluded_elements_of_a_softmax_read_no_gradient) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({1, 4}, {1, -kInfinity, 1, kNaN}));
  const std::vector<std::int32_t> lens{3};
  const Variable w = attn::masked_softmax(x, {.valid_lens = {lens.data(), {1}}});
  tape.backward(w, OwnedTensor({1, 4}, {4, kNaN, 8, kNaN}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(-1, 0, 1, 0));
}

struct PoolingCase {
  PoolingScore score;
  float parameter;
  bool hard = false;
};
constexpr PoolingCase kPoolingCases[] = {
    {PoolingScore::kScaledDot, 0.7F},  {PoolingScore::kScaledDot, 0.7F, true},
    {PoolingScore::kGaussian, 0.8F},   {PoolingScore::kGaussian, 0.8F, true},
    {PoolingScore::kBoxcar, 1.3F},     {PoolingScore::kEpanechnikov, 1.7F},
    {PoolingScore::kAverage, 1},       {PoolingScore::kAdditive, 1},
    {PoolingScore::kAdditive, 1, true}};

ScoringFunction scoring_of(const PoolingCase& c, float parameter) {
  switch (c.score) {
    case PoolingScore::kScaledDot:
      return ScoringFunction::scaled_dot(parameter);
    case PoolingScore::kGaussian:
      return ScoringFunction::gaussian(parameter);
    case PoolingScore::kBoxcar:
      return ScoringFunction::boxcar(parameter);
    case PoolingScore::kEpanechnikov:
      return ScoringFunction::epanechnikov(parameter);
    default:
      return ScoringFunction::average();
  }
}

bool has_width(const PoolingCase& c) {
  return c.score == PoolingScore::kGaussian || c.score == PoolingScore::kBoxcar ||
         c.score == PoolingScore::kEpanechnikov;
}

/// Calls the layer or function under test once, on a tape or on tensors.
struct Call {
  PoolingCase c;
  OwnedTensor query, key, value, output_gradient, width;
  AdditiveAttention additive;
  AttentionPoolingOptions options = {};

  Call(const PoolingCase& which, std::int64_t batch, std::int64_t queries, std::int64_t keys,
       std::int64_t dim, std::int64_t value_dim, Random& random)
      : c(which),
        query(uniform_tensor({batch, queries, dim}, random)),
        key(uniform_tensor({batch, keys, dim}, random)),
        value(uniform_tensor({batch, keys, value_dim}, random)),
        output_gradient(uniform_tensor({batch, queries, value_dim}, random)),
        width({1}, {which.parameter * (has_width(which) ? std::sqrt(static_cast<float>(dim)) : 1)}),
        additive(dim, dim, dim + 2) {
    options.hard = c.hard;
    for (const std::string& name : additive.parameter_names()) {
      const ConstTensor weight = additive.parameter(name);
      additive.set_parameter(name, uniform_tensor({weight.size(0), weight.size(1)}, random));
    }
  }

  void forward(const attn::Tensor& output, attn::Context& context) const {
    if (c.score == PoolingScore::kAdditive) {
      additive.forward(query, key, value, output, options, context);
    } else {
      attn::attention_pooling(query, key, value, output, scoring_of(c, width.values()[0]), options,
                              context);
    }
  }

  struct Variables {
    Variable query, key, value, width, output;
  };
  Variables record(attn::Tape& tape) const {
    Variables v{tape.variable(query), tape.variable(key), tape.variable(value), {}, {}};
    if (c.score == PoolingScore::kAdditive) {
      v.output = additive.forward(v.query, v.key, v.value, options);
    } else {
      if (has_width(c)) v.width = tape.variable(width);
      v.output = attn::attention_pooling(v.query, v.key, v.value,
                                         scoring_of(c, width.values()[0] * (has_width(c) ? 9 : 1)),
                                         options, v.width);
    }
    return v;
  }
};

void expect_gradients_of_the_reference(
    const Call& call, attn::Context& context,
    const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& attends) {
  const PoolingCase& c = call.c;
  const std::int64_t batch = call.query.shape()[0];
  const auto part = [](const OwnedTensor& t, std::int64_t b) {
    // The core gets NaN for excluded keys; the reference never reads them.
    return array_of(ConstTensor(t).select(0, b));
  };
  OwnedTensor forward(call.output_gradient.shape());
  call.forward(forward, context);
  attn::Tape tape(context);
  const Call::Variables v = call.record(tape);
  EXPECT_TRUE(same_bits(values(v.output.value()), values(forward)));
  tape.backward(v.output, call.output_gradient);

  Bounded width;
  std::vector<Bounded> weights(3);
  for (std::int64_t b = 0; b < batch; ++b) {
    reference::Pooling p;
    p.score = c.score;
    p.parameter = static_cast<double>(call.width.values()[0]);
    p.hard = c.hard;
    p.query = part(call.query, b);
    p.key = part(call.key, b);
    p.value = part(call.value, b);
    p.key_weight = array_of(call.additive.parameter("W_k.weight"));
    p.query_weight = array_of(call.additive.parameter("W_q.weight"));
    p.score_weight = array_of(call.additive.parameter("w_v.weight"));
    p.attends = [&, b](std::int64_t i, std::int64_t j) { return attends(b, i, j); };
    reference::Tape exact;
    const reference::PoolingOf<Scalar> in = variables(exact, p);
    exact.backward(reference::inner(reference::attention_pooling(in).output.exact,
                                    part(call.output_gradient, b)));
    expect_within(v.query.gradient().select(0, b), exact.gradient(in.query), "query");
    expect_within(v.key.gradient().select(0, b), exact.gradient(in.key), "key");
    expect_within(v.value.gradient().select(0, b), exact.gradient(in.value), "value");
    add(width, exact.gradient(in.parameter));
    std::size_t k = 0;
    for (const auto* of : {&in.key_weight, &in.query_weight, &in.score_weight}) {
      add(weights[k++], exact.gradient(*of));
    }
  }
  if (!v.width.is_none()) expect_within(v.width.gradient(), width, "width");
  if (c.score == PoolingScore::kAdditive) {
    std::size_t k = 0;
    for (const char* name : {"W_k.weight", "W_q.weight", "w_v.weight"}) {
      expect_within(tape.gradient(call.additive, name), weights[k++], name);
    }
  }
}

TEST_P(TapedPoolingTest, every_kernel_has_the_gradients_of_the_reference) {
  Random random;
  struct Sizes {
    std::int64_t batch, queries, keys, dim, value_dim;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1}, Sizes{2, 3, 7, 1, 1}, Sizes{2, 17, 31, 5, 3},
                         Sizes{1, 5, 33, 16, 67}, Sizes{3, 4, 66, 9, 15}}) {
    for (const PoolingCase& c : kPoolingCases) {
      SCOPED_TRACE(static_cast<int>(c.score) * 10 + c.hard);
      const Call call(c, s.batch, s.queries, s.keys, s.dim, s.value_dim, random);
      expect_gradients_of_the_reference(call, context(), [](auto...) { return true; });
    }
  }
}

TEST_P(TapedPoolingTest, excluded_inputs_reach_no_gradient) {
  Random random;
  constexpr std::int64_t kBatch = 2, kQueries = 6, kKeys = 19;
  const std::vector<std::int32_t> lens{17, 9};
  std::vector<std::uint8_t> mask(kQueries * kKeys);
  for (std::uint8_t& m : mask) m = random.uniform(0, 1) < 0.7F ? 1 : 0;
  for (std::int64_t i = 0; i < kQueries; ++i) mask[static_cast<std::size_t>(i * kKeys + 4)] = 0;
  for (std::int64_t j = 0; j < kKeys; ++j) mask[static_cast<std::size_t>(2 * kKeys + j)] = 0;
  for (const PoolingCase& c : kPoolingCases) {
    SCOPED_TRACE(static_cast<int>(c.score) * 10 + c.hard);
    Call call(c, kBatch, kQueries, kKeys, 3, 5, random);
    call.options.valid_lens = {lens.data(), {kBatch}};
    call.options.mask = {mask.data(), {kQueries, kKeys}};
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t j = 0; j < kKeys; ++j) {
        if (j < lens[static_cast<std::size_t>(b)] && j != 4) continue;
        for (OwnedTensor* t : {&call.key, &call.value}) {
          const std::int64_t width = t->shape()[2];
          std::fill_n(t->values().begin() + (b * kKeys + j) * width, width,
                      j % 2 == 0 ? kNaN : kInfinity);
        }
      }
    }
    // Query 2 attends to nothing, so the gradient of its output must not reach any input.
    for (std::int64_t b = 0; b < kBatch; ++b) {
      std::fill_n(call.output_gradient.values().begin() + (b * kQueries + 2) * 5, 5, 1.0F);
    }
    expect_gradients_of_the_reference(call, context(),
                                      [&](std::int64_t b, std::int64_t i, std::int64_t j) {
                                        return j < lens[static_cast<std::size_t>(b)] &&
                                               mask[static_cast<std::size_t>(i * kKeys + j)] != 0;
                                      });
    attn::Tape tape(context());
    const Call::Variables v = call.record(tape);
    tape.backward(v.output, call.output_gradient);
    EXPECT_THAT(values(v.key.gradient().select(0, 0).select(0, 4)), Each(0.0F));
    EXPECT_THAT(values(v.value.gradient().select(0, 1).slice(0, 9, kKeys)), Each(0.0F));
    EXPECT_THAT(values(v.query.gradient().select(0, 0).select(0, 2)), Each(0.0F));
  }
}

TEST_P(TapedPoolingTest, a_pair_without_distance_has_no_slope) {
  for (const ScoringFunction scoring :
       {ScoringFunction::gaussian(), ScoringFunction::epanechnikov()}) {
    attn::Tape tape(context());
    const Variable x = tape.variable(OwnedTensor({2, 1}, {0, 0.5F}));
    const Variable v = tape.variable(OwnedTensor({2, 1}, {1, 2}));
    const Variable y = attn::attention_pooling(x, x, v, scoring);
    tape.backward(y, OwnedTensor({2, 1}, {1, 1}));
    for (const float g : values(x.gradient())) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST_P(TapedPoolingTest, without_a_batch_the_bits_are_the_same) {
  Random random;
  for (const PoolingCase& c : kPoolingCases) {
    if (c.score == PoolingScore::kAdditive) continue;
    const Call call(c, 1, 5, 9, 4, 6, random);
    attn::Tape tape(context()), other(context());
    const Call::Variables with = call.record(tape);
    tape.backward(with.output, call.output_gradient);
    const Variable q = other.variable(ConstTensor(call.query).select(0, 0));
    const Variable k = other.variable(ConstTensor(call.key).select(0, 0));
    const Variable v = other.variable(ConstTensor(call.value).select(0, 0));
    const Variable y =
        attn::attention_pooling(q, k, v, scoring_of(c, call.width.values()[0]), call.options);
    other.backward(y, ConstTensor(call.output_gradient).select(0, 0));
    EXPECT_THAT(y.shape(), ElementsAre(5, 6));
    EXPECT_TRUE(same_bits(values(q.gradient()), values(with.query.gradient())));
    EXPECT_TRUE(same_bits(values(k.gradient()), values(with.key.gradient())));
    EXPECT_TRUE(same_bits(values(v.gradient()), values(with.value.gradient())));
  }
}

TEST_P(TapedPoolingTest, scores_and_weights_can_be_watched) {
  Random random;
  const Call call({PoolingScore::kAdditive, 1}, 2, 3, 5, 4, 2, random);
  attn::Tape tape(context());
  const std::vector<std::string> names = call.additive.intermediate_names();
  tape.watch(call.additive, names);
  const Call::Variables v = call.record(tape);
  tape.backward(v.output, call.output_gradient);
  attn::Intermediates shown(names);
  OwnedTensor output(call.output_gradient.shape());
  call.additive.forward(call.query, call.key, call.value, output, {}, context(), &shown);
  for (const std::string& name : names) {
    const Variable got = tape.intermediate(call.additive, name);
    EXPECT_TRUE(same_bits(values(got.value()), values(shown[name]))) << name;
    EXPECT_FALSE(got.gradient().is_none()) << name;
  }
  // The softmax turns the gradient of the weights into the gradient of the scores.
  const Variable scores = tape.intermediate(call.additive, "scores");
  const Variable weights = tape.intermediate(call.additive, "weights");
  attn::Tape other(context());
  const Variable x = other.variable(scores.value());
  other.backward(attn::masked_softmax(x), weights.gradient());
  const std::vector<float> wanted = values(x.gradient()), got = values(scores.gradient());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6F);
}

TEST_P(TapedPoolingTest, bits_and_memory_are_steady) {
  Random random;
  for (const PoolingCase& c : kPoolingCases) {
    SCOPED_TRACE(static_cast<int>(c.score) * 10 + c.hard);
    const Call call(c, 2, 37, 83, 9, 21, random);
    attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); },
                             [&](attn::Tape& tape) {
                               tape.clear();
                               const Call::Variables v = call.record(tape);
                               tape.backward(v.output, call.output_gradient);
                               return attn_test::Results{
                                   values(v.output.value()), values(v.query.gradient()),
                                   values(v.key.gradient()), values(v.value.gradient())};
                             });
    attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
      tape.clear();
      tape.backward(call.record(tape).output, call.output_gradient);
    });
  }
  const OwnedTensor x = uniform_tensor({300, 101}, random);
  attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); },
                           [&](attn::Tape& tape) {
                             tape.clear();
                             const Variable in = tape.variable(x);
                             tape.backward(attn::masked_softmax(in), x);
                             return attn_test::Results{values(in.gradient())};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    tape.backward(attn::masked_softmax(tape.variable(x)), x);
  });
}

TEST(TapedPoolingErrorTest, errors_explain_the_problem) {
  attn::Tape tape;
  const Variable q = tape.variable(OwnedTensor({3, 2})), k = tape.variable(OwnedTensor({4, 2}));
  const Variable v = tape.variable(OwnedTensor({4, 5})), two = tape.variable(OwnedTensor({2}));
  const Variable zero = tape.variable(OwnedTensor({1}));
  const OwnedTensor out({3, 4});
  const auto pool = [&](const Variable& key, const Variable& value, const ScoringFunction& scoring,
                        const Variable& width) {
    return error_of([&] { attn::attention_pooling(q, key, value, scoring, {}, width); });
  };
  EXPECT_EQ(pool(k, v, ScoringFunction::gaussian(), two),
            "shape_mismatch: width: got shape (2), needs one element");
  EXPECT_EQ(pool(k, v, ScoringFunction::scaled_dot(), zero),
            "invalid_argument: width: got a variable, needs none; this kernel has no width");
  EXPECT_EQ(pool(k, v, ScoringFunction::boxcar(), zero),
            "invalid_argument: width: got 0, needs a number between 1e-18 and 1e18");
  EXPECT_EQ(pool(k, q, ScoringFunction::gaussian(), {}),
            "shape_mismatch: value: got shape (3, 2), needs shape (4, any)");
  EXPECT_EQ(pool(v, v, ScoringFunction::scaled_dot(), {}),
            "shape_mismatch: key: got shape (4, 5), needs shape (any, 2)");
  OwnedTensor weights({3, 4});
  EXPECT_EQ(error_of([&] {
              attn::attention_pooling(q, k, v, ScoringFunction::average(), {.weights = weights});
            }),
            "invalid_argument: weights: got a tensor, needs none when a tape records the call");
  const AdditiveAttention additive(2, 3, 4);
  EXPECT_EQ(error_of([&] { additive.forward(q, k, v); }),
            "shape_mismatch: key: got shape (4, 2), needs shape (any, 3)");
  EXPECT_EQ(error_of([&] { attn::masked_softmax(two); }),
            "shape_mismatch: x: got shape (2), needs (N, K), (B, N, K) or (B, H, N, K)");
}

}  // namespace
