#include "attn/layers/rms_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/layers/intermediates.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/norm_case.hpp"
#include "measure.hpp"
#include "random.hpp"

namespace {

using attn::RmsNorm;
using attn::RmsNormOptions;
using attn_test::LargestError;
using attn_test::normalized;
using attn_test::Random;

/// Measures the largest relative error. `weight` contains the factor of each column.
void measure(const RmsNorm& norm, const std::vector<float>& weight, const std::vector<float>& x,
             const std::vector<float>& got, LargestError& largest) {
  const auto width = static_cast<std::size_t>(norm.width());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double square = 0;
    for (std::size_t c = 0; c < width; ++c) {
      square += static_cast<double>(x[row + c]) * x[row + c] / static_cast<double>(width);
    }
    for (std::size_t c = 0; c < width; ++c) {
      const double y = x[row + c] / std::sqrt(square + static_cast<double>(norm.options().eps)) *
                       (weight.empty() ? 1.0 : weight[c]);
      largest.add((got[row + c] - y) / y);
    }
  }
}

using RmsNormTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(RmsNormTest);

TEST_P(RmsNormTest, is_within_the_stated_error_at_every_width) {
  Random random;
  LargestError largest("RMS norm, relative", 6e-7);
  for (const std::int64_t width :
       {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257, 1000, 16384}) {
    RmsNorm norm(width);
    const std::vector<float> weight = random.normals(width), x = random.normals(3 * width);
    norm.set_parameter("weight", {weight.data(), {width}});
    measure(norm, weight, x, normalized(norm, x, context()), largest);
  }
}

TEST_P(RmsNormTest, weights_can_be_centred_at_zero_or_left_out) {
  Random random;
  LargestError largest("RMS norm, relative", 6e-7);
  const std::vector<float> x = random.normals(3 * 19);
  RmsNorm norm(19, {.eps = 0.5F, .zero_centred_weight = true});
  measure(norm, {}, x, normalized(norm, x, context()), largest);
  // Weights that can be added to 1 without rounding.
  std::vector<float> weight = random.normals(19);
  for (float& w : weight) w = std::round(w * 64) / 64;
  norm.set_parameter("weight", {weight.data(), {19}});
  for (float& w : weight) w += 1;
  measure(norm, weight, x, normalized(norm, x, context()), largest);
  const RmsNorm without(19, {.elementwise_affine = false});
  measure(without, {}, x, normalized(without, x, context()), largest);
}

// The values of torch.nn.RMSNorm(4), computed by hand: the mean square of x is 4, and eps is 0.
TEST_P(RmsNormTest, divides_by_the_root_of_the_mean_square) {
  const RmsNorm norm(4, {.eps = 0});
  EXPECT_THAT(normalized(norm, {2, -2, 2, 2}, context()), ::testing::ElementsAre(1, -1, 1, 1));
  EXPECT_THAT(normalized(RmsNorm(2), {0, 0}, context()), ::testing::ElementsAre(0, 0));
}

TEST_P(RmsNormTest, nan_stays_in_its_row) {
  Random random;
  attn_test::expect_nan_in_its_row(RmsNorm(21), std::numeric_limits<float>::quiet_NaN(), random,
                                   context());
}

TEST_P(RmsNormTest, every_layout_batch_and_number_of_threads_gives_the_same_bits) {
  Random random;
  RmsNorm norm(103);
  const std::vector<float> weight = random.normals(103);
  norm.set_parameter("weight", {weight.data(), {103}});
  attn_test::expect_the_same_bits_for_any_layout_batch_and_threads(norm, random, context(1),
                                                                   context(3));
}

TEST_P(RmsNormTest, a_steady_loop_does_not_allocate) {
  attn_test::expect_no_allocations_in_forward(RmsNorm(50), context());
}

TEST(RmsNormErrorTest, sizes_shapes_and_parameters) {
  attn_test::expect_norm_errors<RmsNorm>();
  const RmsNorm norm(3);
  EXPECT_THAT(norm.parameter_names(), ::testing::ElementsAre("weight"));
  EXPECT_EQ(*norm.parameter("weight").data(), 1);
  RmsNorm gemma(3, {.zero_centred_weight = true});
  gemma.initialize_xavier(1);
  EXPECT_EQ(*gemma.parameter("weight").data(), 0);
  EXPECT_THAT(RmsNorm(3, {.elementwise_affine = false}).parameter_names(), ::testing::IsEmpty());
  EXPECT_THAT(norm.intermediate_names(), ::testing::ElementsAre("output"));
}

}  // namespace
