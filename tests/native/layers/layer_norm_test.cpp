#include "attn/layers/layer_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/norm_case.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/layer_norm.hpp"

namespace {

using attn::LayerNorm;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::LargestError;
using attn_test::Layout;
using attn_test::normalized;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

/// A layer with random weights, and the same weights for the reference.
struct NormLayer {
  LayerNorm norm;
  std::vector<float> weight, bias;

  NormLayer(std::int64_t width, Random& random, const attn::LayerNormOptions& options = {})
      : norm(width, options) {
    if (options.elementwise_affine) {
      weight = random.normals(width);
      norm.set_parameter("weight", {weight.data(), {width}});
    }
    if (options.elementwise_affine && options.bias) {
      bias = random.normals(width);
      norm.set_parameter("bias", {bias.data(), {width}});
    }
  }

  Array exact(const std::vector<float>& x) const {
    const std::int64_t width = norm.width();
    const auto array = [&](const std::vector<float>& v) {
      return v.empty() ? Array() : Array({width}, v);
    };
    return reference::layer_norm(Array({std::ssize(x) / width, width}, x), array(weight),
                                 array(bias), norm.options().eps);
  }

  /// Measures the largest error as a fraction of the bound that the header states.
  void measure(const std::vector<float>& x, const std::vector<float>& got,
               LargestError& largest) const {
    const Array y = exact(x);
    const std::int64_t width = norm.width();
    const Array normal =
        reference::layer_norm(Array({std::ssize(x) / width, width}, x), {}, {}, norm.options().eps);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double w = weight.empty() ? 1 : std::abs(weight[i % weight.size()]);
      const double rest =
          std::max(0.0, std::abs(got[i] - y.values[i]) - 6e-8 * std::abs(y.values[i]));
      largest.add(rest / (w * (1 + std::abs(normal.values[i]))));
    }
  }
};

using LayerNormTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(LayerNormTest);

TEST_P(LayerNormTest, matches_the_reference_at_every_width) {
  Random random;
  LargestError largest("layer norm / (|weight| (1 + |y|))", 1.5e-6);
  for (const std::int64_t width :
       {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257, 1000, 16384}) {
    SCOPED_TRACE("width " + std::to_string(width));
    const NormLayer layer(width, random);
    const std::vector<float> x = random.normals(3 * width);
    layer.measure(x, normalized(layer.norm, x, context()), largest);
  }
}

TEST_P(LayerNormTest, a_large_mean_costs_no_accuracy) {
  Random random;
  LargestError largest("layer norm at a large mean", 1.5e-6);
  for (const float mean : {100.0F, -1e4F, 1e6F}) {
    for (const std::int64_t width : {5, 100, 1037}) {
      const NormLayer layer(width, random);
      std::vector<float> x = random.normals(2 * width);
      for (float& v : x) v += mean;
      layer.measure(x, normalized(layer.norm, x, context()), largest);
    }
  }
}

TEST_P(LayerNormTest, weight_and_bias_can_be_left_out) {
  Random random;
  LargestError largest("layer norm without bias or weight", 1.5e-6);
  for (const attn::LayerNormOptions& options :
       {attn::LayerNormOptions{.elementwise_affine = false}, attn::LayerNormOptions{.bias = false},
        attn::LayerNormOptions{.eps = 0.5F}}) {
    const NormLayer layer(19, random, options);
    const std::vector<float> x = random.normals(4 * 19);
    layer.measure(x, normalized(layer.norm, x, context()), largest);
  }
}

TEST_P(LayerNormTest, a_fresh_layer_gives_mean_0_and_variance_1) {
  Random random;
  const LayerNorm norm(64);
  const std::vector<float> y = normalized(norm, random.normals(64, 3), context());
  double sum = 0, squares = 0;
  for (const float v : y) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 64, 0, 1e-6);
  EXPECT_NEAR(squares / 64, 1, 1e-5);
}

TEST_P(LayerNormTest, a_constant_row_gives_the_bias) {
  Random random;
  const NormLayer layer(37, random);
  const std::vector<float> y =
      normalized(layer.norm, std::vector<float>(37, 12345.678F), context());
  EXPECT_TRUE(same_bits(y, layer.bias));
}

TEST_P(LayerNormTest, nan_and_infinity_stay_in_their_row) {
  Random random;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    attn_test::expect_nan_in_its_row(NormLayer(21, random).norm, bad, random, context());
  }
}

TEST_P(LayerNormTest, every_layout_batch_and_number_of_threads_gives_the_same_bits) {
  Random random;
  attn_test::expect_the_same_bits_for_any_layout_batch_and_threads(NormLayer(103, random).norm,
                                                                   random, context(1), context(3));
}

TEST_P(LayerNormTest, a_sum_is_normalized_as_its_rounded_values) {
  Random random;
  const NormLayer layer(29, random);
  const std::vector<float> x = random.normals(5 * 29), y = random.normals(5 * 29);
  std::vector<float> sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + y[i];
  const std::vector<float> want = normalized(layer.norm, sum, context());
  FloatTensor a({5, 29}, x, Layout::kTransposed);
  const FloatTensor b({5, 29}, y, Layout::kReversed);
  FloatTensor out = FloatTensor::filled({5, 29}, 77.0F);
  layer.norm.forward_sum(a.view(), b.view(), out.view(), context());
  EXPECT_TRUE(same_bits(out.values(), want));
  layer.norm.forward_sum(b.view(), a.view(), a.view(), context());
  EXPECT_TRUE(same_bits(a.values(), want));
}

TEST_P(LayerNormTest, a_steady_loop_does_not_allocate) {
  Random random;
  attn_test::expect_no_allocations_in_forward(NormLayer(50, random).norm, context());
}

TEST(LayerNormErrorTest, sizes_and_shapes) {
  attn_test::expect_norm_errors<LayerNorm>();
  EXPECT_THAT(error_of([] { LayerNorm norm(std::numeric_limits<std::int64_t>::max()); }),
              ::testing::StartsWith("size_overflow: "));
}

TEST(LayerNormErrorTest, parameters) {
  EXPECT_THAT(LayerNorm(3).parameter_names(), ::testing::ElementsAre("weight", "bias"));
  EXPECT_THAT(LayerNorm(3, {.bias = false}).parameter_names(), ::testing::ElementsAre("weight"));
  EXPECT_THAT(LayerNorm(3, {.elementwise_affine = false}).parameter_names(), ::testing::IsEmpty());
  LayerNorm norm(3, {.bias = false});
  const std::vector<float> x(4, 1.0F);
  EXPECT_EQ(error_of([&] { norm.set_parameter("bias", {x.data(), {3}}); }),
            "not_found: name: got \"bias\", needs one of: weight");
  EXPECT_EQ(error_of([&] { norm.set_parameter("weight", {x.data(), {4}}); }),
            "shape_mismatch: weight: got shape (4), needs shape (3)");
}

}  // namespace
