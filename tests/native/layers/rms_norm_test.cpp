#include "attn/layers/rms_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/intermediates.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"

namespace {

using attn::RmsNorm;
using attn::RmsNormOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::LargestError;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

std::vector<float> normalized(const RmsNorm& norm, const std::vector<float>& x,
                              attn::Context& context) {
  std::vector<float> y(x.size(), 77.0F);
  const std::int64_t rows = std::ssize(x) / norm.width();
  norm.forward({x.data(), {rows, norm.width()}}, {y.data(), {rows, norm.width()}}, context);
  return y;
}

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
  // These weights can be added to 1 without rounding.
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
  const RmsNorm norm(21);
  std::vector<float> x = random.normals(3 * 21);
  const std::vector<float> clean = normalized(norm, x, context());
  x[21 + 20] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = normalized(norm, x, context());
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(i / 21 == 1 ? std::isnan(y[i]) : y[i] == clean[i]) << i;
  }
}

TEST_P(RmsNormTest, every_layout_batch_and_number_of_threads_gives_the_same_bits) {
  Random random;
  RmsNorm norm(103);
  const std::vector<float> weight = random.normals(103), x = random.normals(3 * 70 * 103);
  norm.set_parameter("weight", {weight.data(), {103}});
  const std::vector<float> want = normalized(norm, x, context(1));
  EXPECT_TRUE(same_bits(normalized(norm, x, context(3)), want));
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor in({3, 70, 103}, x, layout);
    FloatTensor out = FloatTensor::filled({3, 70, 103}, 77.0F, layout);
    norm.forward(in.view(), out.view(), context());
    EXPECT_TRUE(same_bits(out.values(), want));
    EXPECT_TRUE(out.gaps_are_untouched());
    norm.forward(in.view(), in.view(), context());
    EXPECT_TRUE(same_bits(in.values(), want));
  }
}

TEST_P(RmsNormTest, a_steady_loop_does_not_allocate) {
  const RmsNorm norm(50);
  std::vector<float> x(200, 1.0F);
  const auto call = [&] { norm.forward({x.data(), {4, 50}}, {x.data(), {4, 50}}, context()); };
  call();
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(probe.count(), 0);
}

TEST(RmsNormErrorTest, sizes_shapes_and_parameters) {
  EXPECT_EQ(error_of([] { RmsNorm norm(0); }), "invalid_argument: width: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { RmsNorm norm(3, {.eps = -1}); }),
            "invalid_argument: eps: got -1, needs a finite number of at least 0");
  const RmsNorm norm(3);
  const std::vector<float> x(12, 1.0F);
  std::vector<float> y(12, 5.0F);
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {3, 4}}, {y.data(), {3, 4}}); }),
            "shape_mismatch: x: got shape (3, 4), needs a last dimension of size 3");
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {4, 3}}, {y.data(), {3, 3}}); }),
            "shape_mismatch: output: got shape (3, 3), needs shape (4, 3)");
  EXPECT_EQ(error_of([&] { norm.forward({nullptr, {4, 3}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_EQ(error_of([&] { norm.forward({nullptr, {0, 3}}, {nullptr, {0, 3}}); }), "nothing");
  EXPECT_THAT(norm.parameter_names(), ::testing::ElementsAre("weight"));
  EXPECT_EQ(*norm.parameter("weight").data(), 1);
  RmsNorm gemma(3, {.zero_centred_weight = true});
  gemma.initialize_xavier(1);
  EXPECT_EQ(*gemma.parameter("weight").data(), 0);
  EXPECT_THAT(RmsNorm(3, {.elementwise_affine = false}).parameter_names(), ::testing::IsEmpty());
  EXPECT_THAT(norm.intermediate_names(), ::testing::ElementsAre("output"));
}

}  // namespace
