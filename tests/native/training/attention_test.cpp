// On a tape, attention must return the same values as the forward function and the same gradients
// as the backward function. Both functions have their own tests.

#include "attn/training/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "attention/attention_problem.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/attention_backward.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;

using TapedAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedAttentionTest);

TEST_P(TapedAttentionTest, HasTheBitsOfForwardAndBackward) {
  Random source;
  const OwnedTensor query = uniform_tensor({2, 4, 5, 3}, source),
                    key = uniform_tensor({2, 2, 7, 3}, source);
  const OwnedTensor value = uniform_tensor({2, 2, 7, 6}, source),
                    bias = uniform_tensor({4, 1, 7}, source);
  const OwnedTensor sinks = uniform_tensor({4}, source), dy = uniform_tensor({2, 4, 5, 6}, source);
  OwnedTensor output({2, 4, 5, 6}), lse({2, 4, 5}), weights({2, 4, 5, 7});
  attn::AttentionOptions options{.bias = bias, .causal = true, .sinks = sinks};
  options.diagonal = attn::Diagonal::bottom_right();
  options.log_sum_exp = lse.view();
  options.weights = weights.view();
  attn::scaled_dot_product_attention(query, key, value, output, options, context());
  options.log_sum_exp = options.weights = {};
  OwnedTensor dq({2, 4, 5, 3}), dk({2, 2, 7, 3}), dv({2, 2, 7, 6}), db({4, 1, 7}), ds({4});
  OwnedTensor of_weights({2, 4, 5, 7}), of_scores({2, 4, 5, 7});
  attn::scaled_dot_product_attention_backward(query, key, value, output, lse, dy,
                                              {.query = dq,
                                               .key = dk,
                                               .value = dv,
                                               .scores = of_scores,
                                               .weights = of_weights,
                                               .bias = db,
                                               .sinks = ds},
                                              options, context());

  attn::Tape tape(context());
  for (int pass = 0; pass < 2; ++pass) {
    tape.clear();
    const Variable q = tape.variable(query), k = tape.variable(key), v = tape.variable(value);
    const Variable b = tape.variable(bias), s = tape.variable(sinks);
    attn::AttentionOptions rest{.causal = true};
    rest.diagonal = attn::Diagonal::bottom_right();
    Variable shown_weights, shown_scores;
    const Variable y =
        attn::scaled_dot_product_attention(q, k, v, rest, {.bias = b, .sinks = s},
                                           {.scores = &shown_scores, .weights = &shown_weights});
    EXPECT_TRUE(same_bits(values(y.value()), values(output)));
    EXPECT_TRUE(same_bits(values(shown_weights.value()), values(weights)));
    tape.backward(y, dy);
    EXPECT_TRUE(same_bits(values(q.gradient()), values(dq)));
    EXPECT_TRUE(same_bits(values(k.gradient()), values(dk)));
    EXPECT_TRUE(same_bits(values(v.gradient()), values(dv)));
    EXPECT_TRUE(same_bits(values(b.gradient()), values(db)));
    EXPECT_TRUE(same_bits(values(s.gradient()), values(ds)));
    EXPECT_TRUE(same_bits(values(shown_scores.gradient()), values(of_scores)));
    EXPECT_TRUE(same_bits(values(shown_weights.gradient()), values(of_weights)));
  }
}

TEST_P(TapedAttentionTest, EveryTermAndEveryResultAtOnce) {
  Random source;
  const OwnedTensor dy = uniform_tensor({1, 2, 3, 4}, source);
  attn::Tape tape(context());
  const auto variable = [&](std::initializer_list<std::int64_t> shape) {
    return tape.variable(uniform_tensor(shape, source));
  };
  const Variable q = variable({1, 2, 3, 4}), k = variable({1, 2, 5, 4}), v = variable({1, 2, 5, 4});
  const attn::AttentionVariables terms{.bias = variable({3, 5}),
                                       .alibi_slopes = variable({2}),
                                       .t5_table = variable({4, 2}),
                                       .relative_keys = variable({3, 4}),
                                       .relative_values = variable({3, 4}),
                                       .sinks = variable({2})};
  Variable scores, weights, log_sum_exp;
  const Variable y = attn::scaled_dot_product_attention(
      q, k, v, {.t5_bias = attn::T5Bias{}}, terms,
      {.scores = &scores, .weights = &weights, .log_sum_exp = &log_sum_exp});
  tape.backward(y, dy);
  for (const Variable& of :
       {q, k, v, terms.bias, terms.alibi_slopes, terms.t5_table, terms.relative_keys,
        terms.relative_values, terms.sinks, scores, weights}) {
    EXPECT_EQ(values(of.gradient()).size(), values(of.value()).size());
  }
  // The bias is added to every head's scores, so the bias's gradient is the sum of the gradients of
  // all heads' scores.
  for (std::size_t i = 0; i < 15; ++i) {
    const std::vector<float> all = values(scores.gradient());
    EXPECT_NEAR(values(terms.bias.gradient())[i], all[i] + all[15 + i], 1e-6);
  }
}

TEST_P(TapedAttentionTest, missing_memory_is_an_error_as_without_a_tape) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({1, 2, 3, 4}));
  attn::MultiHeadAttention layer({.d_model = 4, .num_heads = 2});
  const Variable rows = tape.variable(OwnedTensor({1, 3, 4}));
  const auto check = [&](const char* name, const attn::AttentionOptions& options) {
    const std::string needs = std::string("invalid_argument: ") + name;
    const std::string want = needs + ": got a null pointer, needs data";
    EXPECT_EQ(error_of([&] { scaled_dot_product_attention(x, x, x, options); }), want);
    EXPECT_EQ(error_of([&] { layer.forward(rows, rows, rows, {.attention = options}); }), want);
  };
  check("bias", {.bias = {nullptr, {3, 3}}});
  check("mask", {.mask = {nullptr, {3, 3}}});
  check("sinks", {.sinks = {nullptr, {2}}});
  check("alibi_slopes", {.alibi_slopes = {nullptr, {2}}});
  check("valid_lens", {.valid_lens = {nullptr, {1}}});
  EXPECT_EQ(error_of([&] {
              scaled_dot_product_attention(x, x, x, {.relative_keys = {nullptr, {5, 4}}});
            }),
            "invalid_argument: relative_keys: got a null pointer, needs data");
}

TEST_P(TapedAttentionTest, AVariableThatIsQueryKeyAndValueGetsTheSum) {
  Random source;
  const OwnedTensor x = uniform_tensor({3, 5, 4}, source), dy = uniform_tensor({3, 5, 4}, source);
  attn::Tape tape(context());
  const Variable q = tape.variable(x), k = tape.variable(x), v = tape.variable(x);
  tape.backward(attn::scaled_dot_product_attention(q, k, v), dy);
  std::vector<float> sum;
  for (std::size_t i = 0; i < x.values().size(); ++i) {
    const auto at = [&](const Variable& of) { return values(of.gradient())[i]; };
    sum.push_back(at(q) + at(k) + at(v));
  }
  tape.clear();
  const Variable all = tape.variable(x);
  tape.backward(attn::scaled_dot_product_attention(all, all, all), dy);
  EXPECT_TRUE(same_bits(values(all.gradient()), sum));
}

}  // namespace
