#include "attn/layers/conv1d.hpp"

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
#include "random.hpp"
#include "reference/conv1d.hpp"

namespace {

using attn::Conv1d;
using attn::Conv1dOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::ElementsAre;

struct ConvLayer {
  Conv1dOptions options;
  std::vector<float> weight, bias;
  Conv1d conv;

  ConvLayer(const Conv1dOptions& o, Random& random)
      : options(o),
        weight(random.normals(o.out_channels * o.in_channels * o.kernel_size)),
        bias(random.normals(o.bias ? o.out_channels : 0)),
        conv(o) {
    conv.set_parameter("weight", {weight.data(), {o.out_channels, o.in_channels, o.kernel_size}});
    if (o.bias) conv.set_parameter("bias", {bias.data(), {o.out_channels}});
  }

  std::vector<float> run(const std::vector<float>& x, std::int64_t batch, std::int64_t length,
                         attn::Context& context, Layout layout = Layout::kContiguous) const {
    const FloatTensor input({batch, length, options.in_channels}, x, layout);
    FloatTensor output =
        FloatTensor::filled({batch, conv.output_length(length), options.out_channels}, 77, layout);
    conv.forward(input.view(), output.view(), context);
    EXPECT_TRUE(output.gaps_are_untouched());
    return output.values();
  }

  reference::Bounded expected(const std::vector<float>& x, std::int64_t length) const {
    using reference::Array;
    const Conv1dOptions& o = options;
    const std::int64_t reach = o.dilation * (o.kernel_size - 1);
    return reference::conv1d(Array({length, o.in_channels}, x),
                             Array({o.out_channels, o.in_channels, o.kernel_size}, weight),
                             o.bias ? Array({o.out_channels}, bias) : Array(), o.stride,
                             o.same ? reach / 2 : o.padding, o.same ? (reach + 1) / 2 : o.padding,
                             o.dilation);
  }
};

void expect_right(const Conv1dOptions& o, std::int64_t batch, std::int64_t length, Random& random,
                  attn::Context& context) {
  SCOPED_TRACE(std::to_string(o.in_channels) + " → " + std::to_string(o.out_channels) + ", k " +
               std::to_string(o.kernel_size) + ", stride " + std::to_string(o.stride) +
               ", padding " + std::to_string(o.padding) + (o.same ? " same" : "") + ", dilation " +
               std::to_string(o.dilation) + ", length " + std::to_string(length));
  const ConvLayer layer(o, random);
  const std::vector<float> x = random.normals(batch * length * o.in_channels);
  const std::vector<float> got = layer.run(x, batch, length, context);
  const std::int64_t size = layer.conv.output_length(length) * o.out_channels;
  for (std::int64_t b = 0; b < batch; ++b) {
    const reference::Bounded want = layer.expected(
        {x.begin() + b * length * o.in_channels, x.begin() + (b + 1) * length * o.in_channels},
        length);
    EXPECT_TRUE(
        is_within({got.begin() + b * size, got.begin() + (b + 1) * size}, want.exact, want.error));
  }
}

using Conv1dTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(Conv1dTest);

TEST_P(Conv1dTest, matches_the_reference) {
  Random random;
  for (const std::int64_t kernel : {1, 2, 3, 5}) {
    for (const std::int64_t stride : {1, 2, 3, 4}) {
      for (const std::int64_t padding : {0, 1, 4}) {
        for (const std::int64_t dilation : {1, 2, 3, 6}) {
          expect_right({.in_channels = 3,
                        .out_channels = 4,
                        .kernel_size = kernel,
                        .stride = stride,
                        .padding = padding,
                        .dilation = dilation,
                        .bias = kernel != 2},
                       2, 29, random, context());
        }
      }
    }
  }
  for (const std::int64_t in : {1, 16, 130}) {
    for (const std::int64_t out : {1, 15, 16, 17, 40}) {
      expect_right({.in_channels = in, .out_channels = out, .kernel_size = 3}, 1, 12, random,
                   context());
    }
  }
}

TEST_P(Conv1dTest, same_padding_keeps_the_length) {
  Random random;
  for (const std::int64_t kernel : {1, 2, 3, 4, 7}) {
    for (const std::int64_t dilation : {1, 2, 3}) {
      const Conv1dOptions o{.in_channels = 3,
                            .out_channels = 4,
                            .kernel_size = kernel,
                            .same = true,
                            .dilation = dilation};
      for (const std::int64_t length : {1, 2, 11}) {
        EXPECT_EQ(Conv1d(o).output_length(length), length);
        expect_right(o, 2, length, random, context());
      }
    }
  }
}

TEST_P(Conv1dTest, computes_what_pytorch_s_documentation_says) {
  // x has 1 2 3 4 in channel 0 and 10 20 30 40 in channel 1. The kernel of the only output is (1,
  // -1) for channel 0 and (0, 2) for channel 1.
  const std::vector<float> x{1, 10, 2, 20, 3, 30, 4, 40}, weight{1, -1, 0, 2}, bias{0.5F};
  Conv1d conv({.in_channels = 2, .out_channels = 1, .kernel_size = 2});
  conv.set_parameter("weight", {weight.data(), {1, 2, 2}});
  conv.set_parameter("bias", {bias.data(), {1}});
  std::vector<float> y(3);
  conv.forward({x.data(), {4, 2}}, {y.data(), {3, 1}}, context());
  EXPECT_THAT(y, ElementsAre(39.5F, 59.5F, 79.5F));
}

TEST_P(Conv1dTest, any_number_of_threads_any_batch_and_layout_give_the_same_bits) {
  Random random;
  for (const Conv1dOptions& o :
       {Conv1dOptions{.in_channels = 5, .out_channels = 30, .kernel_size = 3},
        Conv1dOptions{.in_channels = 5, .out_channels = 30, .kernel_size = 1, .stride = 2},
        Conv1dOptions{.in_channels = 5,
                      .out_channels = 30,
                      .kernel_size = 4,
                      .stride = 2,
                      .padding = 3,
                      .dilation = 3}}) {
    const ConvLayer layer(o, random);
    const std::vector<float> x = random.normals(3 * 40 * 5);
    const std::vector<float> one = layer.run(x, 3, 40, context(1));
    EXPECT_TRUE(same_bits(layer.run(x, 3, 40, context(2)), one));
    const auto size = static_cast<std::ptrdiff_t>(one.size() / 3);
    EXPECT_TRUE(same_bits(layer.run({x.begin() + 200, x.begin() + 400}, 1, 40, context()),
                          {one.begin() + size, one.begin() + 2 * size}));
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      EXPECT_TRUE(same_bits(layer.run(x, 3, 40, context(), layout), one));
    }
  }
}

TEST_P(Conv1dTest, nan_reaches_the_windows_that_contain_it) {
  Random random;
  const ConvLayer layer({.in_channels = 2, .out_channels = 3, .kernel_size = 2, .dilation = 3},
                        random);
  std::vector<float> x = random.normals(12 * 2);
  x[5 * 2] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> got = layer.run(x, 1, 12, context());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isnan(got[i]), i / 3 == 5 || i / 3 == 2) << i;
  }
}

TEST_P(Conv1dTest, no_sequence_leaves_nothing_to_do) {
  Random random;
  const ConvLayer layer({.in_channels = 2, .out_channels = 3, .kernel_size = 2}, random);
  EXPECT_TRUE(layer.run({}, 0, 5, context()).empty());
  // If a window covers only padding, its output is the bias.
  const ConvLayer padded({.in_channels = 2, .out_channels = 3, .kernel_size = 2, .padding = 1},
                         random);
  EXPECT_TRUE(same_bits(padded.run({}, 1, 0, context()), padded.bias));
}

TEST_P(Conv1dTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const ConvLayer layer(
      {.in_channels = 5, .out_channels = 30, .kernel_size = 4, .padding = 3, .dilation = 3},
      random);
  const std::vector<float> x = random.normals(40 * 5);
  std::vector<float> y(static_cast<std::size_t>(layer.conv.output_length(40) * 30));
  attn_test::expect_no_allocations([&] {
    layer.conv.forward({x.data(), {40, 5}}, {y.data(), {layer.conv.output_length(40), 30}},
                       context());
  });
}

// ---- Parameters and errors

TEST(Conv1dParametersTest, have_pytorch_names_and_shapes) {
  const Conv1d conv({.in_channels = 2, .out_channels = 3, .kernel_size = 5});
  EXPECT_THAT(conv.parameter_names(), ElementsAre("weight", "bias"));
  EXPECT_THAT(conv.parameter("weight").shape(), ElementsAre(3, 2, 5));
  EXPECT_THAT(conv.parameter("bias").shape(), ElementsAre(3));
}

TEST(Conv1dErrorTest, options) {
  const auto error = [](const Conv1dOptions& o) { return error_of([&] { Conv1d{o}; }); };
  EXPECT_EQ(error({.in_channels = 0, .out_channels = 1}),
            "invalid_argument: in_channels: got 0, needs 1 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 0}),
            "invalid_argument: out_channels: got 0, needs 1 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .kernel_size = 0}),
            "invalid_argument: kernel_size: got 0, needs 1 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .stride = 0}),
            "invalid_argument: stride: got 0, needs 1 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .padding = -1}),
            "invalid_argument: padding: got -1, needs 0 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .dilation = 0}),
            "invalid_argument: dilation: got 0, needs 1 or more");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .stride = 2, .same = true}),
            "invalid_argument: stride: got 2, needs 1 with \"same\" padding");
  EXPECT_EQ(error({.in_channels = 1, .out_channels = 1, .padding = 2, .same = true}),
            "invalid_argument: padding: got 2, needs 0 with \"same\" padding");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_THAT(error({.in_channels = 1, .out_channels = 1, .kernel_size = 5, .dilation = kHuge}),
              ::testing::StartsWith("size_overflow: dilation: "));
  EXPECT_THAT(error({.in_channels = 1, .out_channels = 1, .padding = kHuge}),
              ::testing::StartsWith("size_overflow: padding: "));
  EXPECT_THAT(error({.in_channels = kHuge, .out_channels = 1, .kernel_size = 4}),
              ::testing::StartsWith("size_overflow: kernel_size: "));
}

TEST(Conv1dErrorTest, shapes) {
  const Conv1d conv({.in_channels = 2, .out_channels = 3, .kernel_size = 3, .dilation = 2});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape in, Shape out) {
    return error_of([&] { conv.forward({x.data(), in}, {y.data(), out}); });
  };
  EXPECT_EQ(error({2}, {3}),
            "shape_mismatch: x: got shape (2), needs rank 2 (N, in_channels) or 3 (B, N, "
            "in_channels)");
  EXPECT_EQ(error({6, 3}, {2, 3}), "shape_mismatch: x: got shape (6, 3), needs shape (any, 2)");
  EXPECT_EQ(error({6, 2}, {6, 3}), "shape_mismatch: output: got shape (6, 3), needs shape (2, 3)");
  EXPECT_EQ(error({4, 6, 2}, {2, 3}),
            "shape_mismatch: output: got shape (2, 3), needs shape (4, 2, 3)");
  EXPECT_EQ(
      error({4, 2}, {1, 3}),
      "invalid_argument: x: got length 4, needs at least 5 for one window of 5 with padding 0");
  EXPECT_EQ(
      error_of([&] { conv.output_length(-1); }),
      "invalid_argument: x: got length -1, needs at least 5 for one window of 5 with padding 0");
  EXPECT_EQ(error_of([&] { conv.forward({nullptr, {6, 2}}, {y.data(), {2, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace
