#include "attn/layers/rnn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/recurrent_case.hpp"

namespace {

using attn::RecurrentActivation;
using attn::RecurrentOptions;
using attn::RNN;
using attn_test::error_of;
using attn_test::Random;
using attn_test::RecurrentParameters;
using attn_test::run_recurrent;
using attn_test::same_bits;
using ::testing::ElementsAre;

using RnnTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(RnnTest);

TEST_P(RnnTest, matches_the_reference) {
  attn_test::expect_right_at_every_size(
      [](const RecurrentOptions& o) { return RNN(o, RecurrentActivation::kTanh); },
      reference::Cell::kTanh, context());
  attn_test::expect_right_at_every_size(
      [](const RecurrentOptions& o) { return RNN(o, RecurrentActivation::kRelu); },
      reference::Cell::kRelu, context());
}

TEST_P(RnnTest, a_sequence_without_steps_leaves_the_state_unchanged) {
  Random random;
  RNN layer({2, 3, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> h_0 = random.normals(2 * 2 * 3);
  EXPECT_TRUE(same_bits(run_recurrent(layer, {}, h_0, 2, 0, context()).h_n, h_0));
  EXPECT_TRUE(run_recurrent(layer, {}, {}, 0, 4, context()).output.empty());
}

TEST_P(RnnTest, a_sequence_in_parts_gives_the_bits_of_the_whole) {
  attn_test::expect_parts_give_the_bits_of_the_whole<RNN>(context());
}

TEST_P(RnnTest, any_number_of_threads_any_batch_and_layout_give_the_same_bits) {
  attn_test::expect_same_bits_for_any_threads_batch_and_layout<RNN>(context(1), context(2));
}

TEST_P(RnnTest, nan_appears_in_outputs_from_its_step_on) {
  for (const auto activation : {RecurrentActivation::kTanh, RecurrentActivation::kRelu}) {
    RNN layer({2, 5}, activation);
    attn_test::expect_nan_from_its_step_on(layer, context());
  }
}

TEST_P(RnnTest, a_steady_loop_of_calls_allocates_nothing) {
  RNN layer({6, 37, 2});
  std::vector<float> x(5 * 4 * 6), output(5 * 4 * 37);
  attn_test::expect_no_allocations(
      [&] { layer.forward({x.data(), {5, 4, 6}}, {output.data(), {5, 4, 37}}, {}, context()); });
}

// ---- Parameters and errors

TEST(RnnParametersTest, have_pytorch_names_and_shapes) {
  const RNN layer({3, 4, 2});
  EXPECT_THAT(layer.parameter_names(),
              ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                          "weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"));
  EXPECT_THAT(layer.parameter("weight_ih_l0").shape(), ElementsAre(4, 3));
  EXPECT_THAT(layer.parameter("weight_hh_l0").shape(), ElementsAre(4, 4));
  EXPECT_THAT(layer.parameter("weight_ih_l1").shape(), ElementsAre(4, 4));
  EXPECT_THAT(layer.parameter("bias_hh_l1").shape(), ElementsAre(4));
  EXPECT_THAT(RNN({3, 4, 1, false}).parameter_names(), ElementsAre("weight_ih_l0", "weight_hh_l0"));
}

TEST(RnnErrorTest, sizes) {
  EXPECT_EQ(error_of([] { RNN({0, 1}); }), "invalid_argument: input_size: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { RNN({1, 0}); }), "invalid_argument: hidden_size: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { RNN({1, 1, -1}); }),
            "invalid_argument: num_layers: got -1, needs 1 or more");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(
      attn_test::error_or_bad_alloc([] { RNN({1, kHuge}); }),
      ::testing::AnyOf(::testing::StartsWith("size_overflow: weight_hh_l0: "),
                       ::testing::StartsWith("size_overflow: weight_ih_l0: "), "bad_alloc"));
}

TEST(RnnErrorTest, shapes) {
  RNN layer({2, 3, 2});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape in, Shape out, const attn::RecurrentStates& states = {}) {
    return error_of([&] { layer.forward({x.data(), in}, {y.data(), out}, states); });
  };
  EXPECT_EQ(error({2}, {3}),
            "shape_mismatch: x: got shape (2), needs rank 2 (N, input_size) or 3 (B, N, "
            "input_size)");
  EXPECT_EQ(error({4, 3}, {4, 3}), "shape_mismatch: x: got shape (4, 3), needs shape (any, 2)");
  EXPECT_EQ(error({1, 4, 2}, {4, 3}),
            "shape_mismatch: output: got shape (4, 3), needs shape (1, 4, 3)");
  EXPECT_EQ(error({4, 2}, {5, 3}), "shape_mismatch: output: got shape (5, 3), needs shape (4, 3)");
  EXPECT_EQ(error({4, 2}, {4, 3}, {.h_0 = {x.data(), {2, 1, 3}}}),
            "shape_mismatch: h_0: got shape (2, 1, 3), needs shape (2, 3)");
  EXPECT_EQ(error({5, 4, 2}, {5, 4, 3}, {.h_n = {y.data(), {1, 5, 3}}}),
            "shape_mismatch: h_n: got shape (1, 5, 3), needs shape (2, 5, 3)");
  EXPECT_EQ(error({4, 2}, {4, 3}, {.h_0 = {nullptr, {2, 3}}}),
            "invalid_argument: h_0: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { layer.forward({nullptr, {4, 2}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(
      error_of([&] { layer.set_parameter("weight_hr_l0", {x.data(), {3, 3}}); }).substr(0, 45),
      "not_found: name: got \"weight_hr_l0\", needs on");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace
