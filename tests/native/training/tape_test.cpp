// The tape itself: what is recorded, what is refused, and sums of gradients.

#include "attn/training/tape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attn/layers/linear.hpp"
#include "attn/owned_tensor.hpp"
#include "training/values.hpp"

namespace {

using attn::OwnedTensor;
using attn::Variable;
using attn_test::values;
using testing::ElementsAre;

TEST(TapeTest, WhatIsUsedTwiceGetsTheSumOfBothGradients) {
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({1, 2}, {3, 4}));
  const Variable y = x + x;
  EXPECT_THAT(values(y.value()), ElementsAre(6, 8));
  tape.backward(y, OwnedTensor({1, 2}, {1, 10}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(2, 20));
}

TEST(TapeTest, LinearHasTheGradientsOfInputWeightAndBias) {
  attn::Linear linear(2, 3);
  linear.set_parameter("weight", OwnedTensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  linear.set_parameter("bias", OwnedTensor({3}, {7, 8, 9}));
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({2, 2}, {1, -1, 2, 0.5F}));
  const Variable y = linear.forward(x);
  EXPECT_THAT(values(y.value()), ElementsAre(6, 7, 8, 10, 16, 22));
  tape.backward(y, OwnedTensor({2, 3}, {1, 0, 2, 0, 3, -1}));
  EXPECT_THAT(values(x.gradient()), ElementsAre(11, 14, 4, 6));
  EXPECT_THAT(values(tape.gradient(linear, "weight")), ElementsAre(1, -1, 6, 1.5F, 0, -2.5F));
  EXPECT_THAT(values(tape.gradient(linear, "bias")), ElementsAre(1, 3, 1));
}

}  // namespace
