#include "attn/layers/layer_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/layer_norm.hpp"

namespace {

using attn::LayerNorm;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::LargestError;
using attn_test::Layout;
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

std::vector<float> normalized(const LayerNorm& norm, const std::vector<float>& x,
                              attn::Context& context) {
  std::vector<float> y(x.size(), 77.0F);
  const std::int64_t rows = std::ssize(x) / norm.width();
  norm.forward({x.data(), {rows, norm.width()}}, {y.data(), {rows, norm.width()}}, context);
  return y;
}

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
    const NormLayer layer(21, random);
    std::vector<float> x = random.normals(3 * 21);
    const std::vector<float> clean = normalized(layer.norm, x, context());
    x[21 + 20] = bad;
    const std::vector<float> y = normalized(layer.norm, x, context());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i / 21 == 1) {
        EXPECT_TRUE(std::isnan(y[i])) << i;
      } else {
        EXPECT_EQ(y[i], clean[i]) << i;
      }
    }
  }
}

TEST_P(LayerNormTest, every_layout_batch_and_number_of_threads_gives_the_same_bits) {
  Random random;
  const NormLayer layer(103, random);
  const std::vector<float> x = random.normals(3 * 70 * 103);
  const std::vector<float> want = normalized(layer.norm, x, context(1));
  EXPECT_TRUE(same_bits(normalized(layer.norm, x, context(3)), want));
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor in({3, 70, 103}, x, layout);
    FloatTensor out = FloatTensor::filled({3, 70, 103}, 77.0F, layout);
    layer.norm.forward(in.view(), out.view(), context());
    EXPECT_TRUE(same_bits(out.values(), want));
    EXPECT_TRUE(out.gaps_are_untouched());
    layer.norm.forward(in.view(), in.view(), context());
    EXPECT_TRUE(same_bits(in.values(), want));
  }
  std::vector<float> row(103);
  layer.norm.forward({x.data() + 103 * 50, {103}}, {row.data(), {103}}, context());
  EXPECT_TRUE(same_bits(row, {want.begin() + 103 * 50, want.begin() + 103 * 51}));
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
  const NormLayer layer(50, random);
  const std::vector<float> x = random.normals(4 * 50);
  std::vector<float> y(x.size());
  const auto call = [&] {
    layer.norm.forward({x.data(), {4, 50}}, {y.data(), {4, 50}}, context());
  };
  call();
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(probe.count(), 0);
}

TEST(LayerNormErrorTest, sizes_and_shapes) {
  EXPECT_EQ(error_of([] { LayerNorm norm(0); }), "invalid_argument: width: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { LayerNorm norm(3, {.eps = -1}); }),
            "invalid_argument: eps: got -1, needs a finite number of at least 0");
  EXPECT_THAT(error_of([] { LayerNorm norm(std::numeric_limits<std::int64_t>::max()); }),
              ::testing::StartsWith("size_overflow: "));
  const LayerNorm norm(3);
  const std::vector<float> x(12, 1.0F);
  std::vector<float> y(12, 5.0F);
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {3, 4}}, {y.data(), {3, 4}}); }),
            "shape_mismatch: x: got shape (3, 4), needs a last dimension of size 3");
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {}}, {y.data(), {}}); }),
            "shape_mismatch: x: got shape (), needs a last dimension of size 3");
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {4, 3}}, {y.data(), {3, 3}}); }),
            "shape_mismatch: output: got shape (3, 3), needs shape (4, 3)");
  EXPECT_EQ(error_of([&] {
              norm.forward_sum({x.data(), {4, 3}}, {x.data(), {1, 3}}, {y.data(), {4, 3}});
            }),
            "shape_mismatch: y: got shape (1, 3), needs shape (4, 3)");
  EXPECT_EQ(error_of([&] { norm.forward({nullptr, {4, 3}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { norm.forward({x.data(), {4, 3}}, {nullptr, {4, 3}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_EQ(error_of([&] { norm.forward({nullptr, {0, 3}}, {nullptr, {0, 3}}); }), "nothing");
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
