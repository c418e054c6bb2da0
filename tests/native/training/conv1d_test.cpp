// Tests convolution on a tape. Outputs must be bit-identical to the outputs without a tape, and
// gradients must match the analytic reference in double precision to within its first-order bound.

#include "attn/layers/conv1d.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "reference/conv1d.hpp"
#include "reference/scalar.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::ConstTensor;
using attn::Conv1d;
using attn::Conv1dOptions;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using reference::Array;
using reference::ArrayOf;
using reference::Scalar;
using ::testing::Each;
using ::testing::ElementsAre;

using TapedConv1dTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedConv1dTest);

struct ConvCase {
  Conv1dOptions options;
  std::int64_t batch, length;
};
constexpr ConvCase kConvCases[] = {
    {{.in_channels = 1, .out_channels = 1}, 1, 1},
    {{.in_channels = 3, .out_channels = 5, .kernel_size = 3}, 2, 7},
    {{.in_channels = 4, .out_channels = 17, .kernel_size = 3, .padding = 1}, 3, 13},
    {{.in_channels = 7, .out_channels = 2, .kernel_size = 4, .same = true}, 1, 9},
    {{.in_channels = 5, .out_channels = 3, .kernel_size = 2, .stride = 3, .bias = false}, 2, 11},
    {{.in_channels = 33,
      .out_channels = 31,
      .kernel_size = 3,
      .stride = 2,
      .padding = 3,
      .dilation = 2},
     2,
     10},
    {{.in_channels = 2, .out_channels = 3, .kernel_size = 3, .padding = 9, .dilation = 4}, 2, 2},
    {{.in_channels = 2, .out_channels = 3, .kernel_size = 1, .stride = 5, .padding = 2}, 1, 1},
    {{.in_channels = 16, .out_channels = 65, .kernel_size = 5, .padding = 2}, 1, 67}};

void set_parameters(Conv1d& layer, Random& random) {
  for (const std::string& name : layer.parameter_names()) {
    OwnedTensor drawn(layer.parameter(name).shape());
    for (float& x : drawn.values()) x = random.uniform(-1, 1);
    layer.set_parameter(name, drawn);
  }
}

OwnedTensor output_gradient_of(const Conv1d& layer, const OwnedTensor& x, Random& random) {
  return uniform_tensor(
      {x.shape()[0], layer.output_length(x.shape()[1]), layer.options().out_channels}, random);
}

TEST_P(TapedConv1dTest, gradients_match_the_reference) {
  Random random;
  for (const ConvCase& c : kConvCases) {
    const Conv1dOptions& o = c.options;
    SCOPED_TRACE(&c - kConvCases);
    Conv1d layer(o);
    set_parameters(layer, random);
    const OwnedTensor x = uniform_tensor({c.batch, c.length, o.in_channels}, random);
    const OwnedTensor dy = output_gradient_of(layer, x, random);
    OwnedTensor output(dy.shape());
    layer.forward(x, output, context());
    attn::Tape tape(context());
    const Variable in = tape.variable(x), y = layer.forward(in);
    EXPECT_TRUE(same_bits(values(y.value()), values(output)));
    tape.backward(y, dy);

    reference::Tape exact;
    const auto parameter = [&](const char* name) {
      const ConstTensor p = layer.parameter(name);
      return exact.variables(Array({p.shape().begin(), p.shape().end()}, values(p)));
    };
    const ArrayOf<Scalar> weight = parameter("weight");
    const ArrayOf<Scalar> bias = o.bias ? parameter("bias") : ArrayOf<Scalar>();
    const std::int64_t reach = o.dilation * (o.kernel_size - 1);
    const std::int64_t before = o.same ? reach / 2 : o.padding;
    const std::int64_t behind = o.same ? reach - reach / 2 : o.padding;
    std::vector<ArrayOf<Scalar>> sequences;
    Scalar loss = 0;
    for (std::int64_t b = 0; b < c.batch; ++b) {
      sequences.push_back(
          exact.variables(Array({c.length, o.in_channels}, values(ConstTensor(x).select(0, b)))));
      loss += reference::inner(
          reference::conv1d<Scalar>(sequences.back(), weight, bias, o.stride, before, behind,
                                    o.dilation)
              .exact,
          Array({dy.shape()[1], o.out_channels}, values(ConstTensor(dy).select(0, b))));
    }
    exact.backward(loss);
    const auto check = [&](const ConstTensor& got, const ArrayOf<Scalar>& of, const char* name) {
      const reference::Bounded want = exact.gradient(of);
      EXPECT_TRUE(is_within(values(got), want.exact, want.error)) << name;
    };
    for (std::int64_t b = 0; b < c.batch; ++b) {
      check(in.gradient().select(0, b), sequences[static_cast<std::size_t>(b)], "x");
    }
    check(tape.gradient(layer, "weight"), weight, "weight");
    if (o.bias) check(tape.gradient(layer, "bias"), bias, "bias");
  }
}

TEST_P(TapedConv1dTest, without_a_batch_the_bits_are_the_same) {
  Random random;
  Conv1d layer({.in_channels = 3, .out_channels = 4, .kernel_size = 3, .padding = 1});
  set_parameters(layer, random);
  const OwnedTensor x = uniform_tensor({1, 8, 3}, random), dy = uniform_tensor({1, 8, 4}, random);
  attn::Tape tape(context()), other(context());
  const Variable with = tape.variable(x), without = other.variable(ConstTensor(x).select(0, 0));
  tape.backward(layer.forward(with), dy);
  const Variable y = layer.forward(without);
  EXPECT_THAT(y.shape(), ElementsAre(8, 4));
  other.backward(y, ConstTensor(dy).select(0, 0));
  EXPECT_TRUE(same_bits(values(with.gradient()), values(without.gradient())));
  for (const char* name : {"weight", "bias"}) {
    EXPECT_TRUE(same_bits(values(tape.gradient(layer, name)), values(other.gradient(layer, name))));
  }
}

TEST_P(TapedConv1dTest, tokens_outside_all_windows_or_without_a_gradient_reach_nothing) {
  Random random;
  Conv1d layer({.in_channels = 2, .out_channels = 3, .kernel_size = 2, .stride = 3});
  set_parameters(layer, random);
  OwnedTensor x = uniform_tensor({1, 9, 2}, random), dy = uniform_tensor({1, 3, 3}, random);
  // Token 2 is between two windows, and the output gradient of the last window is 0.
  for (const std::int64_t t : {2, 6}) {
    x.values()[static_cast<std::size_t>(2 * t)] = std::numeric_limits<float>::quiet_NaN();
  }
  std::fill_n(dy.values().begin() + 6, 3, 0.0F);
  attn::Tape tape(context());
  const Variable in = tape.variable(x);
  tape.backward(layer.forward(in), dy);
  for (const std::int64_t t : {2, 5, 6, 7, 8}) {
    EXPECT_THAT(values(in.gradient().select(0, 0).select(0, t)), Each(0.0F)) << t;
  }
  for (const float g : values(tape.gradient(layer, "weight"))) EXPECT_TRUE(std::isfinite(g));
}

TEST_P(TapedConv1dTest, bits_and_memory_are_steady) {
  Random random;
  Conv1d layer({.in_channels = 37, .out_channels = 67, .kernel_size = 5, .padding = 2});
  set_parameters(layer, random);
  const OwnedTensor x = uniform_tensor({3, 101, 37}, random);
  const OwnedTensor dy = output_gradient_of(layer, x, random);
  attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); },
                           [&](attn::Tape& tape) {
                             tape.clear();
                             const Variable in = tape.variable(x);
                             const Variable y = layer.forward(in);
                             tape.backward(y, dy);
                             return attn_test::Results{values(y.value()), values(in.gradient()),
                                                       values(tape.gradient(layer, "weight")),
                                                       values(tape.gradient(layer, "bias"))};
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    tape.backward(layer.forward(tape.variable(x)), dy);
  });
}

TEST(TapedConv1dErrorTest, errors_explain_the_problem) {
  attn::Tape tape;
  const Conv1d layer({.in_channels = 3, .out_channels = 4, .kernel_size = 5});
  const Variable wide = tape.variable(OwnedTensor({2, 7, 4}));
  const Variable brief = tape.variable(OwnedTensor({2, 4, 3}));
  EXPECT_EQ(error_of([&] { layer.forward(wide); }),
            "shape_mismatch: x: got shape (2, 7, 4), needs shape (any, any, 3)");
  EXPECT_EQ(
      error_of([&] { layer.forward(brief); }),
      "invalid_argument: x: got length 4, needs at least 5 for one window of 5 with padding 0");
}

}  // namespace
