#include "attn/training/functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "attn/layers/embedding.hpp"
#include "attn/layers/linear.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "gradient_check.hpp"
#include "random.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::ConstTensor;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using ::testing::ElementsAre;

using FunctionsTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(FunctionsTest);

TEST_P(FunctionsTest, products_and_factors_at_every_size) {
  Random random;
  for (const std::int64_t count : {0, 1, 2, 3, 15, 16, 17, 31, 8191, 8193, 20'000}) {
    const std::vector<float> a = random.normals(count), b = random.normals(count);
    const std::vector<float> dy = random.normals(count);
    attn::Tape tape(context());
    const Variable x = tape.variable({a.data(), {count}}), y = tape.variable({b.data(), {count}});
    const Variable product = x * y;
    const Variable scaled = 3.0F * (product * 0.5F);
    tape.backward(scaled, {dy.data(), {count}});
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(product.value().data()[i], a[i] * b[i]);
      EXPECT_EQ(scaled.value().data()[i], 3.0F * (a[i] * b[i] * 0.5F));
      const float d = dy[i] * 3.0F * 0.5F;
      EXPECT_EQ(x.gradient().data()[i], d * b[i]);
      EXPECT_EQ(y.gradient().data()[i], d * a[i]);
    }
  }
}

TEST_P(FunctionsTest, a_square_has_both_gradients) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({2}, {3, -5}));
  tape.backward(x * x, OwnedTensor({2}, {1, 10}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(6, -100));
}

TEST_P(FunctionsTest, numbers_in_an_expression_act_on_every_element) {
  struct Case {
    const char* name;
    std::function<Variable(const Variable&)> recorded;
    std::function<float(float)> wanted;
    std::function<double(double)> exact;
  };
  const Case cases[] = {
      {"-x", [](const Variable& x) { return -x; }, [](float x) { return -x; },
       [](double x) { return -x; }},
      {"x * 3", [](const Variable& x) { return x * 3; }, [](float x) { return x * 3; },
       [](double x) { return x * 3; }},
      {"3 * x", [](const Variable& x) { return 3 * x; }, [](float x) { return 3 * x; },
       [](double x) { return 3 * x; }},
      {"x + 0.1", [](const Variable& x) { return x + 0.1F; }, [](float x) { return x + 0.1F; },
       [](double x) { return x + 0.1; }},
      {"1 + x", [](const Variable& x) { return 1 + x; }, [](float x) { return 1 + x; },
       [](double x) { return 1 + x; }},
      {"x - 0.1", [](const Variable& x) { return x - 0.1F; }, [](float x) { return x - 0.1F; },
       [](double x) { return x - 0.1; }},
      {"1 - x", [](const Variable& x) { return 1 - x; }, [](float x) { return 1 - x; },
       [](double x) { return 1 - x; }},
      {"x / 3", [](const Variable& x) { return x / 3; }, [](float x) { return x / 3; },
       [](double x) { return x / 3; }},
  };
  Random random;
  for (const Case& c : cases) {
    for (const std::int64_t count : {0, 1, 3, 17, 8193}) {
      const std::vector<float> values_of_x = random.normals(count), dy = random.normals(count);
      attn::Tape tape(context());
      const Variable x = tape.variable({values_of_x.data(), {count}});
      const Variable y = c.recorded(x);
      tape.backward(y, {dy.data(), {count}});
      for (std::size_t i = 0; i < values_of_x.size(); ++i) {
        ASSERT_EQ(y.value().data()[i], c.wanted(values_of_x[i])) << c.name << " at " << i;
        if (count > 17) continue;
        const double at = values_of_x[i];
        const double slope = attn_test::differences(
            [&](const std::vector<double>& v) { return c.exact(v[0]); }, {at})[0];
        ASSERT_NEAR(x.gradient().data()[i], slope * dy[i], 1e-6 * std::abs(slope * dy[i]))
            << c.name << " at " << i;
      }
    }
  }
}

TEST_P(FunctionsTest, numbers_keep_the_shape) {
  attn::Tape tape(context());
  const Variable scalar = tape.variable(OwnedTensor(std::span<const std::int64_t>(), {3}));
  EXPECT_EQ((1 - scalar / 2).item(), -0.5F);
  const Variable x = tape.variable(OwnedTensor({2, 1, 3}));
  EXPECT_THAT((x + 1).shape(), ElementsAre(2, 1, 3));
  EXPECT_THAT((x / 2).shape(), ElementsAre(2, 1, 3));
}

TEST_P(FunctionsTest, differences_of_variables_have_both_gradients) {
  attn::Tape tape(context());
  const Variable a = tape.variable(OwnedTensor({2}, {3, -5}));
  const Variable b = tape.variable(OwnedTensor({2}, {0.1F, 7}));
  const Variable y = a - b;
  tape.backward(y, OwnedTensor({2}, {1, 10}));
  EXPECT_THAT(values(y.value()), ElementsAre(3 - 0.1F, -12));
  EXPECT_THAT(values(a.gradient()), ElementsAre(1, 10));
  EXPECT_THAT(values(b.gradient()), ElementsAre(-1, -10));
}

TEST_P(FunctionsTest, a_mean_shares_its_gradient_equally) {
  Random random;
  for (const std::int64_t count : {1, 2, 7, 10'000}) {
    const std::vector<float> values_of_x = random.normals(count);
    attn::Tape tape(context());
    const Variable x = tape.variable({values_of_x.data(), {1, count}});
    const Variable y = attn::mean(x);
    EXPECT_EQ(y.rank(), 0);
    tape.backward(y * 3);
    const auto mean_of = [](const std::vector<double>& v) {
      return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    const std::vector<double> exact(values_of_x.begin(), values_of_x.end());
    EXPECT_FLOAT_EQ(y.item(), static_cast<float>(mean_of(exact)));
    if (count > 7) continue;
    const std::vector<double> slopes = attn_test::differences(mean_of, exact);
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      EXPECT_NEAR(x.gradient().data()[i], 3 * slopes[i], 1e-6);
    }
  }
  attn::Tape tape(context());
  const Variable nothing = tape.variable(OwnedTensor({0, 2}));
  EXPECT_EQ(error_of([&] { attn::mean(nothing); }),
            "invalid_argument: x: got no elements, needs at least one");
}

TEST_P(FunctionsTest, linear_has_the_bits_of_the_layer) {
  Random random;
  for (const bool bias : {false, true}) {
    attn::Linear layer(7, 19, bias);
    layer.initialize_xavier(1);
    if (bias) layer.set_parameter("bias", {random.normals(19).data(), {19}});
    const std::vector<float> x = random.normals(3 * 11 * 7), dy = random.normals(3 * 11 * 19);
    attn::Tape tape(context());
    const Variable a = tape.variable({x.data(), {3, 11, 7}});
    const Variable wanted = layer.forward(a);
    tape.backward(wanted, {dy.data(), {3, 11, 19}});
    attn::Tape other(context());
    const Variable b = other.variable({x.data(), {3, 11, 7}});
    const Variable weight = other.parameter(layer, "weight");
    const Variable got =
        attn::linear(b, weight, bias ? other.parameter(layer, "bias") : Variable());
    EXPECT_TRUE(same_bits(values(got.value()), values(wanted.value())));
    other.backward(got, {dy.data(), {3, 11, 19}});
    EXPECT_TRUE(same_bits(values(b.gradient()), values(a.gradient())));
    for (const std::string& name : layer.parameter_names()) {
      EXPECT_TRUE(
          same_bits(values(other.gradient(layer, name)), values(tape.gradient(layer, name))));
    }
  }
}

TEST_P(FunctionsTest, a_token_without_a_gradient_is_not_read) {
  attn::Tape tape(context());
  const float nan = std::nanf("");
  const Variable x = tape.variable(OwnedTensor({3, 2}, {1, 2, nan, INFINITY, 3, 4}));
  const Variable weight = tape.variable(OwnedTensor({1, 2}, {5, 6}));
  tape.backward(attn::linear(x, weight), OwnedTensor({3, 1}, {1, 0, 10}));
  EXPECT_THAT(values(weight.gradient()), ElementsAre(31, 42));
}

TEST_P(FunctionsTest, an_output_layer_can_be_tied_to_an_embedding) {
  attn::Embedding embedding({.num_embeddings = 3, .embedding_dim = 2});
  embedding.set_parameter("weight", OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  attn::Tape tape(context());
  const std::vector<std::int64_t> ids{2, 0};
  const Variable table = tape.parameter(embedding, "weight");
  const Variable logits = attn::linear(embedding.forward(tape, ids), table);
  EXPECT_THAT(values(logits.value()), ElementsAre(17, 39, 61, 5, 11, 17));
  tape.backward(logits, OwnedTensor({2, 3}, {1, 0, 0, 0, 10, 0}));
  // The output layer adds (5, 6) and 10·(1, 2) to the gradients of rows 0 and 1. The embedding adds
  // (1, 2) and 10·(3, 4) to the gradients of rows 2 and 0.
  EXPECT_THAT(values(table.gradient()), ElementsAre(35, 46, 10, 20, 1, 2));
}

TEST_P(FunctionsTest, an_output_layer_made_of_an_embedding_adds_to_its_gradient) {
  attn::Embedding embedding({.num_embeddings = 3, .embedding_dim = 2});
  const attn::Linear output(embedding, true);
  embedding.set_parameter("weight", OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  attn::Tape tape(context());
  const std::vector<std::int64_t> ids{2, 0};
  const Variable logits = output.forward(embedding.forward(tape, ids));
  EXPECT_THAT(values(logits.value()), ElementsAre(17, 39, 61, 5, 11, 17));
  tape.backward(logits, OwnedTensor({2, 3}, {1, 0, 0, 0, 10, 0}));
  EXPECT_THAT(values(tape.gradient(embedding, "weight")), ElementsAre(35, 46, 10, 20, 1, 2));
  EXPECT_THAT(values(tape.gradient(output, "bias")), ElementsAre(1, 10, 0));

  // If the tape records only the output layer, errors must still name the embedding's parameter.
  attn::Tape other(context());
  const Variable x = other.variable(OwnedTensor({1, 2}, {1, 1}));
  const Variable y = output.forward(x);
  embedding.set_parameter("weight", OwnedTensor({3, 2}));
  EXPECT_THAT(attn_test::error_of([&] { other.backward(y, OwnedTensor({1, 3})); }),
              ::testing::HasSubstr("weight: got a change between"));
}

TEST_P(FunctionsTest, reshape_keeps_the_order_and_copies_nothing) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Variable y = attn::reshape(x, {3, -1});
  EXPECT_THAT(y.shape(), ElementsAre(3, 2));
  EXPECT_EQ(y.value().data(), x.value().data());
  const Variable sum = y + attn::reshape(attn::reshape(x, {6}), {3, 2});
  tape.backward(sum, OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(x.gradient().shape(), ElementsAre(2, 3));
}

TEST_P(FunctionsTest, concatenation_along_any_dimension) {
  Random random;
  const OwnedTensor a = uniform_tensor({2, 3, 5}, random), b = uniform_tensor({2, 1, 5}, random);
  const OwnedTensor dy = uniform_tensor({2, 7, 5}, random);
  attn::Tape tape(context());
  const Variable x = tape.variable(a), y = tape.variable(b);
  const Variable all = attn::concatenate({x, y, x}, -2);
  EXPECT_THAT(all.shape(), ElementsAre(2, 7, 5));
  tape.backward(all, dy);
  for (std::int64_t i = 0; i < 2; ++i) {
    const ConstTensor got = all.value().select(0, i), gradient = ConstTensor(dy).select(0, i);
    EXPECT_EQ(values(got.slice(0, 0, 3)), values(ConstTensor(a).select(0, i)));
    EXPECT_EQ(values(got.slice(0, 3, 4)), values(ConstTensor(b).select(0, i)));
    EXPECT_EQ(values(got.slice(0, 4, 7)), values(ConstTensor(a).select(0, i)));
    EXPECT_EQ(values(y.gradient().select(0, i)), values(gradient.slice(0, 3, 4)));
    const std::vector<float> once = values(gradient.slice(0, 0, 3));
    const std::vector<float> again = values(gradient.slice(0, 4, 7));
    const std::vector<float> sum = values(x.gradient().select(0, i));
    for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_EQ(sum[k], once[k] + again[k]);
  }
  const OwnedTensor wide = uniform_tensor({2, 6, 5}, random);
  attn_test::expect_no_allocation(context(), [&](attn::Tape& steady) {
    steady.clear();
    const Variable part = steady.variable(a);
    steady.backward(attn::concatenate({part, part}, 1), wide);
  });
}

TEST(FunctionsErrorTest, says_what_cannot_be_concatenated) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({2, 3})), y = tape.variable(OwnedTensor({3, 3}));
  EXPECT_EQ(error_of([&] { attn::concatenate({x, y}, 1); }),
            "shape_mismatch: parts: got shape (3, 3), needs shape (2, 3), except in dimension 1");
  EXPECT_EQ(error_of([&] { attn::concatenate({x, y}, 2); }),
            "invalid_argument: dim: got 2, needs a dimension of x, which has rank 2");
  EXPECT_EQ(error_of([&] { attn::concatenate({}, 0); }),
            "invalid_argument: concatenate: got none, needs a variable that a tape created");
  EXPECT_EQ(error_of([&] { attn::concatenate({x, Variable()}, 0); }),
            "invalid_argument: variable: got none, needs one that a tape created");
}

TEST_P(FunctionsTest, slices_of_any_dimension) {
  attn::Tape tape(context());
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const Variable x = tape.variable({numbers.data(), {2, 3, 4}});
  const Variable middle = attn::slice(x, 1, 1, 3);
  EXPECT_THAT(middle.shape(), ElementsAre(2, 2, 4));
  const Variable last = attn::select(middle, -1, 3);
  EXPECT_THAT(last.shape(), ElementsAre(2, 2));
  EXPECT_THAT(values(last.value()), ElementsAre(7, 11, 19, 23));
  const Variable first = attn::slice(attn::select(x, 0, 1), 0, 1, 3);
  const Variable row = attn::select(first, 1, 0);
  EXPECT_THAT(values(row.value()), ElementsAre(16, 20));
  const Variable nothing = attn::slice(x, 2, 4, 4);
  EXPECT_THAT(nothing.shape(), ElementsAre(2, 3, 0));
  const Variable sum = attn::select(last, 0, 1) + row;
  tape.backward(sum, OwnedTensor({2}, {1, 10}));
  std::vector<float> wanted(24, 0.0F);
  wanted[19] = 1;
  wanted[23] = 10;
  wanted[16] = 1;
  wanted[20] = 10;
  EXPECT_EQ(values(x.gradient()), wanted);
}

TEST_P(FunctionsTest, an_element_can_be_the_loss) {
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({3}, {1, 2, 3}));
  const Variable loss = attn::select(x * x, 0, 2);
  EXPECT_EQ(loss.item(), 9);
  tape.backward(loss);
  EXPECT_THAT(values(x.gradient()), ElementsAre(0, 0, 6));
}

TEST_P(FunctionsTest, bits_and_memory_are_steady) {
  Random random;
  const std::vector<float> x = random.normals(40 * 30 * 24), dy = random.normals(20 * 30 * 50);
  attn::Linear layer(24, 50);
  layer.initialize_xavier(1);
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    const Variable in = tape.variable({x.data(), {40, 30, 24}});
    const Variable part = attn::slice(in, 0, 10, 30) * attn::slice(in, 0, 15, 35);
    const Variable rows = 0.3F * attn::reshape(part, {-1, 24});
    tape.backward(attn::linear(rows, tape.parameter(layer, "weight")), {dy.data(), {600, 50}});
    return in;
  };
  attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                           [&](attn::Tape& tape) -> Results {
                             const Variable in = pass(tape);
                             return {values(in.gradient()), values(tape.gradient(layer, "weight"))};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) { pass(tape); });
}

TEST(FunctionsErrorTest, invalid_arguments_are_rejected) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Variable y = tape.variable(OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(error_of([&] { x* y; }), "shape_mismatch: b: got shape (3, 2), needs shape (2, 3)");
  EXPECT_EQ(error_of([&] { attn::linear(x, y); }),
            "shape_mismatch: x: got shape (2, 3), needs shape (any, 2)");
  EXPECT_EQ(error_of([&] { attn::linear(x, x, attn::reshape(x, {6})); }),
            "shape_mismatch: bias: got shape (6), needs shape (2)");
  EXPECT_EQ(error_of([&] { attn::linear(x, attn::reshape(x, {6})); }),
            "shape_mismatch: weight: got shape (6), needs shape (any, any)");
  EXPECT_EQ(error_of([&] { attn::reshape(x, {4, -1}); }),
            "shape_mismatch: shape: got shape (4, any), needs as many elements as (2, 3)");
  EXPECT_EQ(error_of([&] { attn::reshape(x, {-1, -1}); }),
            "invalid_argument: shape: got -1, needs 0 or more");
  EXPECT_EQ(error_of([&] { attn::reshape(x, {1, 1, 1, 1, 1, 1, 6}); }),
            "shape_mismatch: shape: got shape (1, 1, 1, 1, 1, 1, 6), needs at most 6 dimensions");
  EXPECT_EQ(error_of([&] { attn::slice(x, 0, 1, 3); }),
            "invalid_argument: slice: got [1, 3), needs a range within size 2");
  EXPECT_EQ(error_of([&] { attn::slice(x, 2, 0, 1); }),
            "invalid_argument: dim: got 2, needs a dimension of x, which has rank 2");
  EXPECT_EQ(error_of([&] { attn::select(x, -1, 3); }),
            "invalid_argument: at: got 3, needs an index below 3, the size of that dimension");
  EXPECT_THAT(error_of([&] { 2.0F * Variable(); }), ::testing::StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { attn::slice(Variable(), 0, 0, 1); }),
              ::testing::StartsWith("invalid_argument: "));
}

}  // namespace
