// Tests a tape's errors and their messages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "allocation.hpp"
#include "attn/layers/linear.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"

namespace {

using attn::Linear;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::kInfinity;
using attn_test::kNaN;
using testing::ElementsAre;
using testing::HasSubstr;

class RecordedTwoLayers : public attn::Module {
 public:
  RecordedTwoLayers() {
    add_child("first", first);
    add_child("second", second);
    initialize_xavier(7);
  }
  Variable forward(const Variable& x) const { return second.forward(first.forward(x)); }

  Linear first{2, 2};
  Linear second{2, 1};
};

Variable loss_of(attn::Tape& tape, const RecordedTwoLayers& model, std::vector<float> x = {1, 2}) {
  tape.clear();
  return attn::mse_loss(model.forward(tape.constant(OwnedTensor({1, 2}, std::move(x)))),
                        OwnedTensor({1, 1}));
}

void set(attn::Module& module, const char* name, std::vector<float> values) {
  const attn::ConstTensor old = module.parameter(name);
  module.set_parameter(name, OwnedTensor(old.shape(), std::move(values)));
}

TEST(TapeErrorsTest, GradientsExistOnlyAfterBackward) {
  RecordedTwoLayers model;
  attn::Tape tape;
  const Variable x = tape.variable(OwnedTensor({1, 2}));
  const std::string too_early =
      "invalid_argument: gradient: got a call before backward(), needs backward() first";
  EXPECT_EQ(error_of([&] { x.gradient(); }), too_early);
  EXPECT_EQ(error_of([&] { tape.gradient(model, "first.weight"); }), too_early);
  const Variable loss = attn::mse_loss(model.forward(x), OwnedTensor({1, 1}));
  EXPECT_EQ(error_of([&] { x.gradient(); }), too_early);
  tape.backward(loss);
  EXPECT_FALSE(x.gradient().is_none());
  EXPECT_THAT(error_of([&] { tape.gradient(model, "third.weight"); }), HasSubstr("not_found"));
  tape.clear();
  EXPECT_THAT(error_of([&] { x.gradient(); }),
              HasSubstr("a variable from before the tape was cleared"));
  EXPECT_EQ(error_of([&] { tape.gradient(model, "first.weight"); }), too_early);
}

TEST(TapeErrorsTest, BackwardIsCalledOnceAndRecordingEndsWithIt) {
  const RecordedTwoLayers model;
  attn::Tape tape;
  const Variable loss = loss_of(tape, model);
  tape.backward(loss);
  EXPECT_EQ(error_of([&] { tape.backward(loss); }),
            "invalid_argument: backward: got a second call, needs clear() and a new forward pass "
            "first");
  EXPECT_THAT(error_of([&] { loss + loss; }), HasSubstr("tape: got a call after backward()"));
  EXPECT_THAT(error_of([&] { tape.variable(OwnedTensor({1})); }), HasSubstr("after backward()"));
  EXPECT_FALSE(tape.gradient(model, "first.weight").is_none());  // nothing is lost
  tape.backward(loss_of(tape, model));
}

TEST(TapeErrorsTest, ALossHasOneElementAndIsOfThisTape) {
  const RecordedTwoLayers model;
  attn::Tape tape, other;
  const Variable loss = loss_of(tape, model);
  const Variable wide = tape.variable(OwnedTensor({2, 2}));
  EXPECT_EQ(error_of([&] { tape.backward(wide); }),
            "shape_mismatch: loss: got shape (2, 2), needs one element");
  EXPECT_EQ(error_of([&] { other.backward(loss); }),
            "invalid_argument: loss: got a variable of another tape, needs one of this tape");
  EXPECT_THAT(error_of([&] { other.backward(wide, OwnedTensor({2, 2})); }),
              HasSubstr("output: got a variable of another tape"));
  EXPECT_THAT(error_of([&] { tape.backward(wide, OwnedTensor({2})); }),
              HasSubstr("output_gradient: got shape (2), needs shape (2, 2)"));
  EXPECT_THAT(error_of([&] { tape.backward(Variable()); }), HasSubstr("got none"));
  EXPECT_THAT(error_of([&] { wide + other.variable(OwnedTensor({2, 2})); }),
              HasSubstr("got variables from two tapes"));
  EXPECT_THAT(error_of([&] { wide.item(); }), HasSubstr("needs one element"));
  tape.backward(loss);
}

TEST(TapeErrorsTest, AParameterThatChangedSinceTheForwardPassIsNamed) {
  RecordedTwoLayers model;
  attn::Tape tape;
  const Variable loss = loss_of(tape, model);
  set(model, "second.weight", {1, 2});
  EXPECT_EQ(error_of([&] { tape.backward(loss); }),
            "invalid_argument: second.weight: got a change between the forward pass and "
            "backward(), needs none; repeat the forward pass");
  tape.backward(loss_of(tape, model));
  attn::Sgd(model).step(tape);
}

TEST(TapeErrorsTest, AStepThatChangesParametersBeforeBackwardIsDetected) {
  RecordedTwoLayers model;
  attn::Sgd optimizer(model);
  attn::Tape tape, late;
  const Variable loss = loss_of(late, model);
  tape.backward(loss_of(tape, model));
  optimizer.step(tape);
  EXPECT_THAT(error_of([&] { late.backward(loss); }), HasSubstr("got a change between"));
}

TEST(TapeErrorsTest, TheErrorForANanLossNamesTheStepAndTheFirstNan) {
  RecordedTwoLayers model;
  attn::Tape tape;
  tape.backward(loss_of(tape, model));
  tape.backward(loss_of(tape, model));
  const Variable loss = loss_of(tape, model, {1, kNaN});
  EXPECT_EQ(error_of([&] { tape.backward(loss); }),
            "invalid_argument: loss: got nan in step 3 (the first NaN is in the output of Linear "
            "\"first\"), needs a finite number");
  // Nothing is lost: the tape still records, and there are no gradients yet.
  EXPECT_THAT(error_of([&] { loss.gradient(); }), HasSubstr("before backward()"));

  set(model, "second.weight", {kNaN, 0});
  EXPECT_THAT(
      error_of([&] { tape.backward(loss_of(tape, model)); }),
      HasSubstr("got nan in step 4 (the first NaN is in parameter \"second.weight\"), needs"));
}

TEST(TapeErrorsTest, TheErrorForANanNamesTheOverflowThatCausedIt) {
  RecordedTwoLayers model;
  set(model, "first.weight", {1e30F, 0, 0, 1e30F});
  set(model, "second.weight", {1, -1});
  attn::Tape tape;
  EXPECT_THAT(
      error_of([&] { tape.backward(loss_of(tape, model, {1e30F, 1e30F})); }),
      HasSubstr("got nan in step 1 (the first NaN is in the output of Linear \"second\", and an "
                "infinity is in the output of Linear \"first\"), needs"));
  EXPECT_THAT(error_of([&] { tape.backward(loss_of(tape, model, {1e30F, 0})); }),
              HasSubstr("got inf in step 2 (the first infinity is in the output of Linear "
                        "\"first\"), needs"));
  tape.clear();
  const Variable x = tape.variable(OwnedTensor({}, {kInfinity}));
  EXPECT_EQ(error_of([&] { tape.backward(x); }),
            "invalid_argument: loss: got inf in step 3, needs a finite number");
  EXPECT_THAT(error_of([&] { tape.backward(x + x); }), HasSubstr("is in the output of operator+"));
}

TEST(TapeErrorsTest, PartsOfAModelHaveTheNamesOfItsOptimizer) {
  Linear first(2, 2), second(2, 2);
  RecordedTwoLayers whole;
  const attn::NamedModule parts[] = {{"first", first}, {"second", second}, {"inner", whole.first}};
  attn::Tape tape;
  const auto pass = [&] {
    tape.clear();
    const Variable x = tape.variable(OwnedTensor({1, 2}, {1e30F, 1e30F}));
    return attn::mse_loss(whole.first.forward(second.forward(first.forward(x))), x);
  };
  const auto error = [&](attn::Module& module) {
    set(module, "weight", {kNaN, 0, 0, 0});
    const std::string result = error_of([&] { tape.backward(pass()); });
    set(module, "weight", {0, 0, 0, 0});
    return result;
  };
  set(first, "weight", {1e30F, 0, 0, 0});
  EXPECT_THAT(error_of([&] { tape.backward(pass()); }), HasSubstr("is in the output of Linear,"));
  {
    const attn::Sgd optimizer(parts), other({{"other", second}});
    EXPECT_THAT(error(second), HasSubstr("(the first NaN is in parameter \"second.weight\""));
    // The error uses the name of the layer in the module that contains it.
    EXPECT_THAT(error(whole.first), HasSubstr("(the first NaN is in parameter \"first.weight\""));
    set(first, "weight", {1e30F, 0, 0, 0});
    set(second, "weight", {1, 0, 0, 0});
    EXPECT_THAT(error_of([&] { tape.backward(pass()); }),
                HasSubstr("the first NaN is in the output of Linear \"second\", and an "
                          "infinity is in the output of Linear \"first\""));
    const Variable loss = pass();
    set(second, "bias", {1, 2});
    EXPECT_THAT(error_of([&] { tape.backward(loss); }),
                testing::StartsWith("invalid_argument: second.bias: got a change between"));
  }
  EXPECT_THAT(error(second), HasSubstr("(the first NaN is in parameter \"weight\""));
}

TEST(TapeErrorsTest, AnInfinityThatDoesNoHarmIsNotBlamed) {
  attn::Tape tape;
  const Variable logits = tape.variable(OwnedTensor({1, 3}, {1, -kInfinity, 2}));
  const std::int64_t possible = 0, impossible = 1;
  tape.backward(attn::cross_entropy(logits, std::span(&possible, 1)));
  tape.clear();
  const Variable again = tape.variable(OwnedTensor({1, 3}, {1, -kInfinity, 2}));
  EXPECT_THAT(
      error_of([&] { tape.backward(attn::cross_entropy(again, std::span(&impossible, 1))); }),
      HasSubstr("got inf in step 2 (the first infinity is in the output of cross_entropy"));
}

TEST(TapeErrorsTest, MemoryThatRunsOutInBackwardLeavesATapeThatCanBeCleared) {
  const RecordedTwoLayers model;
  for (std::int64_t allowed = 0; allowed < 8; ++allowed) {
    attn::Context context({.num_threads = 1});
    attn::Tape tape(context);
    const Variable loss = loss_of(tape, model);
    const bool done = attn_test::succeeds_with_allocations(allowed, [&] { tape.backward(loss); });
    if (!done) {
      EXPECT_THAT(error_of([&] { loss.gradient(); }), HasSubstr("backward() that failed"));
      EXPECT_THAT(error_of([&] { tape.backward(loss); }), HasSubstr("a second call"));
    }
    tape.backward(loss_of(tape, model));
    EXPECT_FALSE(tape.gradient(model, "first.weight").is_none());
  }
}

}  // namespace
