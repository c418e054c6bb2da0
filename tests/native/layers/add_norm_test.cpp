#include "attn/layers/add_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/layer_norm.hpp"

namespace {

using attn::AddNorm;
using attn::Dropout;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

using AddNormTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(AddNormTest);

// D2L 11.7.3: AddNorm(4, 0.5) of ones(2, 3, 4) and ones(2, 3, 4) has the same shape, (2, 3, 4).
TEST_P(AddNormTest, normalizes_the_sum) {
  Random random;
  const AddNorm add_norm(4);
  const std::vector<float> x = random.normals(2 * 3 * 4), y = random.normals(2 * 3 * 4);
  std::vector<float> output(x.size());
  add_norm.forward({x.data(), {2, 3, 4}}, {y.data(), {2, 3, 4}}, {output.data(), {2, 3, 4}}, {},
                   context());
  Array sum({6, 4}, x);
  for (std::size_t i = 0; i < y.size(); ++i) sum.values[i] += y[i];
  EXPECT_TRUE(attn_test::is_within(output, reference::layer_norm(sum, {}, {}, 1e-5), 5e-6));
}

TEST_P(AddNormTest, drops_out_of_y_alone) {
  Random random;
  const AddNorm add_norm(7);
  const std::vector<float> x = random.normals(5 * 7), y = random.normals(5 * 7);
  const Dropout dropout{.probability = 0.5F, .training = true, .random = {3, 4}};
  std::vector<float> output(x.size()), dropped(y.size()), want(x.size());
  add_norm.forward({x.data(), {5, 7}}, {y.data(), {5, 7}}, {output.data(), {5, 7}}, dropout,
                   context());
  attn::apply_dropout({y.data(), {5, 7}}, {dropped.data(), {5, 7}}, dropout, context());
  add_norm.forward({x.data(), {5, 7}}, {dropped.data(), {5, 7}}, {want.data(), {5, 7}}, {},
                   context());
  EXPECT_TRUE(same_bits(output, want));
  add_norm.forward({x.data(), {5, 7}}, {y.data(), {5, 7}}, {want.data(), {5, 7}},
                   {.probability = 0.5F}, context());
  EXPECT_FALSE(same_bits(output, want));
}

TEST(AddNormErrorTest, parameters_and_arguments) {
  EXPECT_THAT(AddNorm(3).parameter_names(), ::testing::ElementsAre("ln.weight", "ln.bias"));
  EXPECT_EQ(error_of([] { AddNorm add_norm(0); }),
            "invalid_argument: width: got 0, needs 1 or more");
  AddNorm add_norm(3);
  std::vector<float> x(9, 1.0F);
  std::vector<float> output(9, 5.0F);
  const attn::Tensor out(output.data(), {2, 3});
  EXPECT_EQ(error_of([&] { add_norm.set_parameter("ln.bias", {x.data(), {2}}); }),
            "shape_mismatch: ln.bias: got shape (2), needs shape (3)");
  for (const bool training : {false, true}) {
    const Dropout dropout{.probability = 0.5F, .training = training};
    EXPECT_EQ(
        error_of([&] { add_norm.forward({x.data(), {2, 3}}, {x.data(), {3, 3}}, out, dropout); }),
        "shape_mismatch: y: got shape (3, 3), needs shape (2, 3)");
    EXPECT_EQ(
        error_of([&] { add_norm.forward({x.data(), {3, 2}}, {x.data(), {3, 2}}, out, dropout); }),
        "shape_mismatch: x: got shape (3, 2), needs a last dimension of size 3");
  }
  EXPECT_EQ(error_of([&] {
              add_norm.forward({x.data(), {2, 3}}, {x.data(), {2, 3}}, out, {.probability = 2});
            }),
            "invalid_argument: dropout: got 2, needs a probability between 0 and 1");
  EXPECT_THAT(output, ::testing::Each(5.0F));
}

}  // namespace
