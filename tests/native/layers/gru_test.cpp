#include "attn/layers/gru.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/recurrent_case.hpp"

namespace {

using attn::GRU;
using attn::RecurrentOptions;
using attn_test::error_of;
using attn_test::kInfinity;
using attn_test::Random;
using attn_test::RecurrentParameters;
using attn_test::RecurrentResult;
using attn_test::run_recurrent;
using attn_test::same_bits;
using ::testing::ElementsAre;

using GruTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(GruTest);

TEST_P(GruTest, matches_the_reference) {
  attn_test::expect_right_at_every_size([](const RecurrentOptions& o) { return GRU(o); },
                                        reference::Cell::kGru, context());
}

TEST_P(GruTest, gates_follow_the_equations) {
  // One input, one unit: r = σ(1), z = σ(2), n = tanh(3 + r·0.5), h = (1 − z)·n + z·0.25.
  GRU layer({1, 1});
  const std::vector<float> weight_ih{1, 2, 3}, bias_hh{0, 0, 0.5F}, x{1}, h_0{0.25F};
  layer.set_parameter("weight_ih_l0", {weight_ih.data(), {3, 1}});
  layer.set_parameter("bias_hh_l0", {bias_hh.data(), {3}});
  std::vector<float> output(1);
  layer.forward({x.data(), {1, 1}}, {output.data(), {1, 1}}, {.h_0 = {h_0.data(), {1, 1}}},
                context());
  const double r = 1 / (1 + std::exp(-1.0)), z = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(output[0], (1 - z) * std::tanh(3 + r * 0.5) + z * 0.25, 1e-6);
}

TEST_P(GruTest, extreme_arguments_saturate) {
  GRU layer({1, 1});
  const std::vector<float> weight_ih{1, 1, 1};
  layer.set_parameter("weight_ih_l0", {weight_ih.data(), {3, 1}});
  for (const float x : {-kInfinity, -3e38F, -1e4F}) {
    float output = 77;
    layer.forward({&x, {1, 1}}, {&output, {1, 1}}, {}, context());
    EXPECT_EQ(output, -1.0F) << x;  // z = 0, n = −1
  }
  for (const float x : {1e4F, 3e38F, kInfinity}) {
    float output = 77;
    const float h_0 = 0.5F;
    layer.forward({&x, {1, 1}}, {&output, {1, 1}}, {.h_0 = {&h_0, {1, 1}}}, context());
    EXPECT_EQ(output, 0.5F) << x;  // z = 1
  }
}

TEST_P(GruTest, a_sequence_in_parts_gives_the_bits_of_the_whole) {
  attn_test::expect_parts_give_the_bits_of_the_whole<GRU>(context());
}

TEST_P(GruTest, any_number_of_threads_any_batch_and_layout_give_the_same_bits) {
  attn_test::expect_same_bits_for_any_threads_batch_and_layout<GRU>(context(1), context(2));
}

TEST_P(GruTest, nan_appears_in_outputs_from_its_step_on) {
  GRU layer({2, 5});
  attn_test::expect_nan_from_its_step_on(layer, context());
}

TEST_P(GruTest, a_moved_layer_keeps_its_weights) {
  Random random;
  GRU layer({2, 5});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> x = random.normals(3 * 2);
  const RecurrentResult before = run_recurrent(layer, x, {}, 1, 3, context());
  const GRU moved = std::move(layer);
  EXPECT_TRUE(same_bits(run_recurrent(moved, x, {}, 1, 3, context()).output, before.output));
}

// ---- Parameters and errors

TEST(GruParametersTest, have_pytorch_names_and_shapes) {
  const GRU layer({3, 4, 2});
  EXPECT_THAT(layer.parameter_names(),
              ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                          "weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"));
  EXPECT_THAT(layer.parameter("weight_ih_l0").shape(), ElementsAre(12, 3));
  EXPECT_THAT(layer.parameter("weight_hh_l0").shape(), ElementsAre(12, 4));
  EXPECT_THAT(layer.parameter("weight_ih_l1").shape(), ElementsAre(12, 4));
  EXPECT_THAT(layer.parameter("bias_ih_l1").shape(), ElementsAre(12));
}

TEST(GruErrorTest, sizes_and_shapes) {
  EXPECT_EQ(error_of([] { GRU({0, 1}); }), "invalid_argument: input_size: got 0, needs 1 or more");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([] { GRU({1, kHuge}); }),
            "size_overflow: hidden_size: got sizes (3, 4611686018427387904), needs sizes whose "
            "product fits into the address space");
  const GRU layer({2, 3});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  EXPECT_EQ(error_of([&] { layer.forward({x.data(), {4, 3}}, {y.data(), {4, 3}}); }),
            "shape_mismatch: x: got shape (4, 3), needs shape (any, 2)");
  EXPECT_EQ(error_of([&] {
              layer.forward({x.data(), {4, 2}}, {y.data(), {4, 3}}, {.h_0 = {x.data(), {2, 3}}});
            }),
            "shape_mismatch: h_0: got shape (2, 3), needs shape (1, 3)");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace
