// Compares the gradients of LayerNorm and RmsNorm with their equations in double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/layers/layer_norm.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/array.hpp"
#include "training/gradients.hpp"

namespace {

using attn::LayerNorm;
using attn::RmsNorm;
using attn::Variable;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::values;
using reference::Array;
using reference::Bounded;

struct NormCase {
  std::int64_t rows, width;
  bool centred;
  double eps;
  std::vector<float> x, dy, weight;  ///< `weight` has the factor of each column, or is empty

  double at(const std::vector<float>& v, std::int64_t i, std::int64_t c) const {
    return v[static_cast<std::size_t>(i * width + c)];
  }
};

/// Exact gradients, and the error bounds that the headers state.
struct Exact {
  Bounded x, weight, bias;
};

Exact gradients(const NormCase& p) {
  const auto bounded = [](std::vector<std::int64_t> shape) {
    return Bounded{Array(shape), Array(shape)};
  };
  Exact e{bounded({p.rows, p.width}), bounded({p.width}), bounded({p.width})};
  const auto n = static_cast<double>(p.width);
  for (std::int64_t i = 0; i < p.rows; ++i) {
    double mean = 0, square = 0;
    for (std::int64_t c = 0; c < p.width; ++c) mean += p.at(p.x, i, c) / n;
    if (!p.centred) mean = 0;
    for (std::int64_t c = 0; c < p.width; ++c) square += std::pow(p.at(p.x, i, c) - mean, 2) / n;
    const double d = std::sqrt(square + p.eps);
    double mean_g = 0, mean_gy = 0, size_g = 0, size_gy = 0, size_both = 0;
    const auto normal = [&](std::int64_t c) { return (p.at(p.x, i, c) - mean) / d; };
    const auto g = [&](std::int64_t c) {
      return p.at(p.dy, i, c) * (p.weight.empty() ? 1 : p.weight[static_cast<std::size_t>(c)]);
    };
    for (std::int64_t c = 0; c < p.width; ++c) {
      mean_g += g(c) / n;
      mean_gy += g(c) * normal(c) / n;
      size_g += std::abs(g(c)) / n;
      size_gy += std::abs(g(c) * normal(c)) / n;
      size_both += std::abs(g(c)) * (1 + std::abs(normal(c))) / n;
      const double dy = p.at(p.dy, i, c);
      e.weight.exact.at({c}) += dy * normal(c);
      e.bias.exact.at({c}) += dy;
      e.weight.error.at({c}) +=
          std::abs(dy) * (p.centred ? 1 + std::abs(normal(c)) : std::abs(normal(c)));
      e.bias.error.at({c}) += std::abs(dy);
    }
    for (std::int64_t c = 0; c < p.width; ++c) {
      const double y = normal(c);
      e.x.exact.at({i, c}) = (g(c) - (p.centred ? mean_g : 0) - y * mean_gy) / d;
      e.x.error.at({i, c}) =
          p.centred ? 4e-6 / d * (std::abs(g(c)) + size_g + (1 + std::abs(y)) * size_both)
                    : 2e-6 / d * (std::abs(g(c)) + std::abs(y) * size_gy);
    }
  }
  for (double& v : e.weight.error.values) v *= 6e-6 + 1e-9 * static_cast<double>(p.rows);
  for (double& v : e.bias.error.values) v *= 4e-6 + 1e-9 * static_cast<double>(p.rows);
  return e;
}

/// Runs a forward and a backward pass. Returns the output and the gradients of x, weight and bias.
template <class Norm>
Results pass(const Norm& norm, attn::Tape& tape, const NormCase& p) {
  tape.clear();
  const Variable x = tape.variable({p.x.data(), {p.rows, p.width}});
  const Variable y = norm.forward(x);
  tape.backward(y, {p.dy.data(), {p.rows, p.width}});
  Results results{values(y.value()), values(x.gradient())};
  for (const std::string& name : norm.parameter_names()) {
    results.push_back(values(tape.gradient(norm, name)));
  }
  return results;
}

NormCase random_case(std::int64_t rows, std::int64_t width, bool centred, double eps,
                     Random& random, float mean = 0) {
  NormCase p{rows, width, centred, eps, random.normals(rows * width), random.normals(rows * width),
             {}};
  for (float& x : p.x) x += mean;
  return p;
}

/// Draws the layer's weight and bias. Sets p.weight to the layer's weight plus `offset`.
template <class Norm>
void draw(Norm& norm, NormCase& p, Random& random, float offset = 0) {
  for (const std::string& name : norm.parameter_names()) {
    const std::vector<float> values = random.normals(p.width);
    norm.set_parameter(name, {values.data(), {p.width}});
    if (name != "weight") continue;
    p.weight = values;
    for (float& w : p.weight) w += offset;
  }
}

void expect_gradients(const Results& got, const NormCase& p) {
  const Exact e = gradients(p);
  EXPECT_TRUE(is_within(got[1], e.x.exact, e.x.error)) << "x";
  if (got.size() > 2) {
    EXPECT_TRUE(is_within(got[2], e.weight.exact, e.weight.error)) << "weight";
  }
  if (got.size() > 3) {
    EXPECT_TRUE(is_within(got[3], e.bias.exact, e.bias.error)) << "bias";
  }
}

const std::vector<std::int64_t> kWidths{1,  2,  3,  4,  5,  7,   8,   9,    15,
                                        16, 17, 31, 33, 64, 100, 257, 1031, 16384};

using NormGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(NormGradientTest);

TEST_P(NormGradientTest, of_layer_norm_is_exact_at_every_width) {
  Random random;
  for (const std::int64_t width : kWidths) {
    SCOPED_TRACE("width " + std::to_string(width));
    const std::int64_t rows = width > 1000 ? 3 : random.pick<std::int64_t>({1, 2, 7, 63, 64, 65});
    NormCase p = random_case(rows, width, true, 1e-5F, random);
    LayerNorm norm(width);
    draw(norm, p, random);
    attn::Tape tape(context());
    expect_gradients(pass(norm, tape, p), p);
  }
}

TEST_P(NormGradientTest, of_rms_norm_is_exact_at_every_width) {
  Random random;
  for (const std::int64_t width : kWidths) {
    SCOPED_TRACE("width " + std::to_string(width));
    const std::int64_t rows = width > 1000 ? 3 : random.pick<std::int64_t>({1, 2, 7, 63, 64, 65});
    NormCase p = random_case(rows, width, false, 1e-6F, random);
    const bool zero_centred = random.chance(0.5);
    RmsNorm norm(width, {.eps = 1e-6F, .zero_centred_weight = zero_centred});
    draw(norm, p, random, zero_centred ? 1.0F : 0.0F);
    attn::Tape tape(context());
    expect_gradients(pass(norm, tape, p), p);
  }
}

TEST_P(NormGradientTest, many_rows_are_summed_exactly) {
  Random random;
  for (const bool centred : {true, false}) {
    NormCase p = random_case(9001, 13, centred, 1e-5F, random);
    attn::Tape tape(context());
    if (centred) {
      LayerNorm norm(13);
      draw(norm, p, random);
      expect_gradients(pass(norm, tape, p), p);
    } else {
      RmsNorm norm(13, {.eps = 1e-5F});
      draw(norm, p, random);
      expect_gradients(pass(norm, tape, p), p);
    }
  }
}

TEST_P(NormGradientTest, a_large_mean_costs_no_accuracy) {
  Random random;
  for (const float mean : {100.0F, -1e4F, 1e6F}) {
    NormCase p = random_case(5, 103, true, 1e-5F, random, mean);
    LayerNorm norm(103);
    draw(norm, p, random);
    attn::Tape tape(context());
    expect_gradients(pass(norm, tape, p), p);
  }
}

TEST_P(NormGradientTest, weight_and_bias_can_be_left_out) {
  Random random;
  for (const attn::LayerNormOptions& options :
       {attn::LayerNormOptions{.elementwise_affine = false}, attn::LayerNormOptions{.bias = false},
        attn::LayerNormOptions{.eps = 0.5F}}) {
    NormCase p = random_case(6, 19, true, options.eps, random);
    LayerNorm norm(19, options);
    draw(norm, p, random);
    attn::Tape tape(context());
    const Results got = pass(norm, tape, p);
    EXPECT_EQ(got.size(), 2 + norm.parameter_names().size());
    expect_gradients(got, p);
  }
  NormCase p = random_case(6, 19, false, 1e-5F, random);
  attn::Tape tape(context());
  expect_gradients(pass(RmsNorm(19, {.eps = 1e-5F, .elementwise_affine = false}), tape, p), p);
}

TEST_P(NormGradientTest, values_have_the_bits_of_the_tensor_forward) {
  Random random;
  NormCase p = random_case(70, 103, true, 1e-5F, random);
  LayerNorm layer_norm(103);
  draw(layer_norm, p, random);
  RmsNorm rms_norm(103);
  draw(rms_norm, p, random);
  attn::Tape tape(context());
  std::vector<float> y(p.x.size());
  layer_norm.forward({p.x.data(), {70, 103}}, {y.data(), {70, 103}}, context());
  EXPECT_TRUE(same_bits(pass(layer_norm, tape, p)[0], y));
  rms_norm.forward({p.x.data(), {70, 103}}, {y.data(), {70, 103}}, context());
  EXPECT_TRUE(same_bits(pass(rms_norm, tape, p)[0], y));
}

TEST_P(NormGradientTest, of_a_sum_goes_to_both) {
  Random random;
  const NormCase p = random_case(9, 21, true, 1e-5F, random);
  const std::vector<float> y = random.normals(9 * 21);
  const LayerNorm norm(21);
  attn::Tape tape(context());
  const Variable a = tape.variable({p.x.data(), {9, 21}}), b = tape.variable({y.data(), {9, 21}});
  const Variable out = norm.forward_sum(a, b);
  std::vector<float> wanted(y.size());
  norm.forward_sum(a.value(), b.value(), {wanted.data(), {9, 21}}, context());
  EXPECT_TRUE(same_bits(values(out.value()), wanted));
  tape.backward(out, {p.dy.data(), {9, 21}});
  NormCase sum = p;
  for (std::size_t i = 0; i < y.size(); ++i) sum.x[i] = p.x[i] + y[i];
  const Exact e = gradients(sum);
  EXPECT_TRUE(is_within(values(a.gradient()), e.x.exact, e.x.error));
  EXPECT_TRUE(same_bits(values(a.gradient()), values(b.gradient())));
}

TEST_P(NormGradientTest, nan_stays_in_its_row) {
  Random random;
  NormCase p = random_case(5, 21, true, 1e-5F, random);
  attn::Tape tape(context());
  const LayerNorm layer_norm(21, {.elementwise_affine = false});
  const RmsNorm rms_norm(21, {.elementwise_affine = false});
  const auto check = [&](const auto& norm) {
    NormCase bad = p;
    bad.x[2 * 21 + 20] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> clean = pass(norm, tape, p)[1], got = pass(norm, tape, bad)[1];
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (i / 21 == 2) {
        EXPECT_TRUE(std::isnan(got[i]));
      } else {
        EXPECT_EQ(got[i], clean[i]);
      }
    }
  };
  check(layer_norm);
  check(rms_norm);
}

TEST_P(NormGradientTest, parameters_learn_from_inputs_that_need_no_gradient) {
  Random random;
  const NormCase p = random_case(4, 9, true, 1e-5F, random);
  const LayerNorm norm(9);
  attn::Tape tape(context());
  const Variable x = tape.constant({p.x.data(), {4, 9}});
  tape.backward(norm.forward(x), {p.dy.data(), {4, 9}});
  const Exact e = gradients(p);
  EXPECT_TRUE(x.gradient().is_none());
  EXPECT_TRUE(is_within(values(tape.gradient(norm, "weight")), e.weight.exact, e.weight.error));
  EXPECT_TRUE(is_within(values(tape.gradient(norm, "bias")), e.bias.exact, e.bias.error));
}

TEST_P(NormGradientTest, bits_and_memory_are_steady) {
  Random random;
  const NormCase p = random_case(700, 37, true, 1e-5F, random);
  const LayerNorm layer_norm(37);
  const RmsNorm rms_norm(37);
  const auto contexts = [&](int threads) -> attn::Context& { return context(threads); };
  attn_test::expect_steady(contexts, [&](attn::Tape& tape) { return pass(layer_norm, tape, p); });
  attn_test::expect_steady(contexts, [&](attn::Tape& tape) { return pass(rms_norm, tape, p); });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    const Variable x = tape.variable({p.x.data(), {700, 37}});
    tape.backward(layer_norm.forward(rms_norm.forward(x)), {p.dy.data(), {700, 37}});
  });
}

TEST(NormGradientErrorTest, shapes) {
  attn::Tape tape;
  const LayerNorm layer_norm(3);
  const RmsNorm rms_norm(3);
  const std::vector<float> values(12, 1.0F);
  const Variable x = tape.variable({values.data(), {3, 4}});
  EXPECT_EQ(error_of([&] { layer_norm.forward(x); }),
            "shape_mismatch: x: got shape (3, 4), needs a last dimension of size 3");
  EXPECT_EQ(error_of([&] { rms_norm.forward(x); }),
            "shape_mismatch: x: got shape (3, 4), needs a last dimension of size 3");
  EXPECT_EQ(error_of([&] { layer_norm.forward_sum(x, tape.variable({values.data(), {4, 3}})); }),
            "shape_mismatch: y: got shape (4, 3), needs shape (3, 4)");
  EXPECT_THAT(error_of([&] { rms_norm.forward(Variable()); }),
              ::testing::StartsWith("invalid_argument: "));
  const Variable none = rms_norm.forward(tape.variable({nullptr, {0, 3}}));
  EXPECT_EQ(error_of([&] { tape.backward(none, {nullptr, {0, 3}}); }), "nothing");
}

}  // namespace
