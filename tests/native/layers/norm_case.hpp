#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

/// Test code for both LayerNorm and RmsNorm.
namespace attn_test {

template <class Norm>
std::vector<float> normalized(const Norm& norm, const std::vector<float>& x,
                              attn::Context& context) {
  std::vector<float> y(x.size(), 77.0F);
  const std::int64_t rows = std::ssize(x) / norm.width();
  norm.forward({x.data(), {rows, norm.width()}}, {y.data(), {rows, norm.width()}}, context);
  return y;
}

/// Expects that a row with the number `bad` becomes NaN, and that other rows do not change.
template <class Norm>
void expect_nan_in_its_row(const Norm& norm, float bad, Random& random, attn::Context& context) {
  const std::int64_t width = norm.width();
  std::vector<float> x = random.normals(3 * width);
  const std::vector<float> clean = normalized(norm, x, context);
  x[static_cast<std::size_t>(2 * width - 1)] = bad;
  const std::vector<float> y = normalized(norm, x, context);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool is_bad = static_cast<std::int64_t>(i) / width == 1;
    EXPECT_TRUE(is_bad ? std::isnan(y[i]) : y[i] == clean[i]) << i;
  }
}

/// Runs the norm on several layouts and batches, with the threads of `several`. Expects the same
/// bits as from one thread.
template <class Norm>
void expect_the_same_bits_for_any_layout_batch_and_threads(const Norm& norm, Random& random,
                                                           attn::Context& one,
                                                           attn::Context& several) {
  const std::int64_t width = norm.width();
  const std::vector<float> x = random.normals(3 * 70 * width);
  const std::vector<float> want = normalized(norm, x, one);
  EXPECT_TRUE(same_bits(normalized(norm, x, several), want));
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor in({3, 70, width}, x, layout);
    FloatTensor out = FloatTensor::filled({3, 70, width}, 77.0F, layout);
    norm.forward(in.view(), out.view(), one);
    EXPECT_TRUE(same_bits(out.values(), want));
    EXPECT_TRUE(out.gaps_are_untouched());
    norm.forward(in.view(), in.view(), one);
    EXPECT_TRUE(same_bits(in.values(), want));
  }
  std::vector<float> row(static_cast<std::size_t>(width));
  norm.forward({x.data() + 50 * width, {width}}, {row.data(), {width}}, one);
  EXPECT_TRUE(same_bits(row, {want.begin() + 50 * width, want.begin() + 51 * width}));
}

template <class Norm>
void expect_no_allocations_in_forward(const Norm& norm, attn::Context& context) {
  std::vector<float> x(static_cast<std::size_t>(4 * norm.width()), 1.0F);
  const attn::Tensor rows(x.data(), {4, norm.width()});
  expect_no_allocations([&] { norm.forward(rows, rows, context); });
}

/// Checks the error messages of a norm for wrong sizes and arguments.
template <class Norm>
void expect_norm_errors() {
  EXPECT_EQ(error_of([] { Norm norm(0); }), "invalid_argument: width: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { Norm norm(3, {.eps = -1}); }),
            "invalid_argument: eps: got -1, needs a finite number of at least 0");
  const Norm norm(3);
  const std::vector<float> ones(12, 1.0F);
  std::vector<float> fives(12, 5.0F);
  const float* const x = ones.data();
  float* const y = fives.data();
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](const float* in, Shape in_shape, float* out, Shape out_shape) {
    return error_of([&] { norm.forward({in, in_shape}, {out, out_shape}); });
  };
  EXPECT_EQ(error(x, {3, 4}, y, {3, 4}),
            "shape_mismatch: x: got shape (3, 4), needs a last dimension of size 3");
  EXPECT_EQ(error(x, {}, y, {}),
            "shape_mismatch: x: got shape (), needs a last dimension of size 3");
  EXPECT_EQ(error(x, {4, 3}, y, {3, 3}),
            "shape_mismatch: output: got shape (3, 3), needs shape (4, 3)");
  EXPECT_EQ(error_of([&] { norm.forward_sum({x, {4, 3}}, {x, {1, 3}}, {y, {4, 3}}); }),
            "shape_mismatch: y: got shape (1, 3), needs shape (4, 3)");
  EXPECT_EQ(error(nullptr, {4, 3}, y, {4, 3}),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error(x, {4, 3}, nullptr, {4, 3}),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(fives, ::testing::Each(5.0F));
  EXPECT_EQ(error(nullptr, {0, 3}, nullptr, {0, 3}), "nothing");
}

}  // namespace attn_test
