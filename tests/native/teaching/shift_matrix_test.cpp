#include "attn/teaching/shift_matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace {

using attn::ShiftOptions;
using attn::SinusoidalLayout;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr SinusoidalLayout kLayouts[] = {SinusoidalLayout::kInterleaved,
                                         SinusoidalLayout::kConcatenated};
constexpr double kDeltas[] = {0,    1,       -1,   7,        0.5,         -12.25,
                              1000, -123456, 1e-6, 16777216, -16777215.75};

/// M_δ in extended precision: M[r, c] = ∂ P[i + δ, r] / ∂ P[i, c], computed with the addition
/// theorems.
reference::Array exact_matrix(std::int64_t width, double delta, const ShiftOptions& options) {
  const bool concatenated = options.layout == SinusoidalLayout::kConcatenated;
  reference::Array matrix({width, width});
  for (std::int64_t r = 0; r < width; ++r) {
    const auto row = reference::sinusoidal_column(r, width, concatenated);
    const long double angle = delta * reference::sinusoidal_frequency(options.base, row.j, width);
    for (std::int64_t c = 0; c < width; ++c) {
      const auto col = reference::sinusoidal_column(c, width, concatenated);
      if (row.j != col.j) continue;
      const long double value = row.cosine == col.cosine ? std::cos(angle)
                                : row.cosine             ? -std::sin(angle)
                                                         : std::sin(angle);
      matrix.at({r, c}) = static_cast<double>(value);
    }
  }
  return matrix;
}

reference::Array exact_encoding(const std::vector<double>& positions, std::int64_t width,
                                const ShiftOptions& options) {
  return reference::sinusoidal_encoding(
      {positions, width, options.base, options.layout == SinusoidalLayout::kConcatenated});
}

class ShiftMatrixTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> matrix(std::int64_t width, double delta, const ShiftOptions& options = {}) {
    std::vector<float> output(static_cast<std::size_t>(width * width), 7.0F);
    attn::shift_matrix({output.data(), {width, width}}, delta, options, context());
    return output;
  }

  std::vector<float> encoding(const std::vector<double>& positions, std::int64_t width,
                              const ShiftOptions& options = {}) {
    const auto rows = static_cast<std::int64_t>(positions.size());
    std::vector<float> output(static_cast<std::size_t>(rows * width));
    attn::sinusoidal_encoding_at(positions, {output.data(), {rows, width}},
                                 {.base = options.base, .layout = options.layout}, context());
    return output;
  }

  std::vector<float> shifted(const std::vector<float>& x, std::int64_t width, double delta,
                             const ShiftOptions& options = {}) {
    const auto rows = static_cast<std::int64_t>(x.size()) / width;
    std::vector<float> output(x.size(), 7.0F);
    attn::apply_shift({x.data(), {rows, width}}, delta, {output.data(), {rows, width}}, options,
                      context());
    return output;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(ShiftMatrixTest);

TEST_P(ShiftMatrixTest, entries_are_exact) {
  for (const SinusoidalLayout layout : kLayouts) {
    for (const std::int64_t width : {2, 4, 6, 32, 50}) {
      for (const double delta : kDeltas) {
        const ShiftOptions options{.layout = layout};
        EXPECT_TRUE(is_within(matrix(width, delta, options), exact_matrix(width, delta, options),
                              3.1e-8 + 4.5e-16 * std::abs(delta)))
            << "width " << width << ", delta " << delta;
      }
    }
  }
}

TEST_P(ShiftMatrixTest, times_the_encoding_of_any_position_is_the_shifted_encoding) {
  for (const SinusoidalLayout layout : kLayouts) {
    const ShiftOptions options{.base = 100, .layout = layout};
    constexpr std::int64_t kWidth = 12;
    for (const double delta : kDeltas) {
      const std::vector<float> m = matrix(kWidth, delta, options);
      for (const double position : {0.0, 1.0, -3.5, 59.0, 100000.0}) {
        const std::vector<float> p = encoding({position}, kWidth, options);
        const reference::Array exact = exact_encoding({position + delta}, kWidth, options);
        for (std::int64_t r = 0; r < kWidth; ++r) {
          double sum = 0;
          for (std::int64_t c = 0; c < kWidth; ++c) sum += double{m[r * kWidth + c]} * p[c];
          // Each result is a sum of two products. Each product multiplies a matrix entry by an
          // encoding value, and each of these two numbers has an error of at most 3.1e-8.
          EXPECT_NEAR(sum, exact.at({0, r}), 1.3e-7) << "delta " << delta << " from " << position;
        }
      }
    }
  }
}

TEST_P(ShiftMatrixTest, delta_0_gives_the_identity) {
  for (const SinusoidalLayout layout : kLayouts) {
    const std::vector<float> m = matrix(10, 0, {.layout = layout});
    for (std::size_t i = 0; i < m.size(); ++i) {
      EXPECT_EQ(m[i], i % 11 == 0 ? 1.0F : 0.0F);
      EXPECT_FALSE(std::signbit(m[i]));
    }
  }
}

TEST_P(ShiftMatrixTest, backwards_is_the_transpose_of_forwards) {
  for (const SinusoidalLayout layout : kLayouts) {
    const std::vector<float> forwards = matrix(16, 3.5, {.layout = layout});
    const std::vector<float> backwards = matrix(16, -3.5, {.layout = layout});
    for (std::size_t r = 0; r < 16; ++r) {
      for (std::size_t c = 0; c < 16; ++c) {
        EXPECT_EQ(forwards[r * 16 + c], backwards[c * 16 + r]);
      }
    }
  }
}

TEST_P(ShiftMatrixTest, is_written_with_any_strides) {
  const std::vector<float> contiguous = matrix(8, 5);
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    auto output = FloatTensor::filled({8, 8}, 7.0F, layout);
    attn::shift_matrix(output.view(), 5, {}, context());
    EXPECT_TRUE(same_bits(contiguous, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

// ---- apply_shift

TEST_P(ShiftMatrixTest, applied_to_an_encoding_is_the_shifted_encoding) {
  std::vector<double> positions;
  for (int i = 0; i < 150; ++i) positions.push_back(i - 20);
  for (const SinusoidalLayout layout : kLayouts) {
    for (const std::int64_t width : {2, 4, 14, 32, 34, 100}) {
      const ShiftOptions options{.layout = layout};
      const std::vector<float> p = encoding(positions, width, options);
      for (const double delta : kDeltas) {
        std::vector<double> later = positions;
        for (double& position : later) position += delta;
        EXPECT_TRUE(is_within(shifted(p, width, delta, options),
                              exact_encoding(later, width, options), 2.7e-7))
            << "width " << width << ", delta " << delta;
      }
    }
  }
}

TEST_P(ShiftMatrixTest, shifts_encodings_of_random_shapes_by_any_delta) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const std::int64_t width = 2 * random.integer(1, 70);
    const std::int64_t rows = random.integer(1, 20);
    const ShiftOptions options{.base = std::exp2(random.uniform(0, 20)),
                               .layout = kLayouts[random.integer(0, 1)]};
    // Random numbers of all magnitudes up to 2^24, positive and negative, integer and fractional.
    const auto number = [&] {
      const double size = std::exp2(random.uniform(-4, 24));
      return (random.chance(0.5) ? -1 : 1) * (random.chance(0.5) ? std::floor(size) : size);
    };
    const double delta = number();
    std::vector<double> positions;
    std::vector<double> later;
    for (std::int64_t i = 0; i < rows; ++i) {
      positions.push_back(number());
      later.push_back(positions.back() + delta);
    }
    const std::vector<float> moved =
        shifted(encoding(positions, width, options), width, delta, options);
    SCOPED_TRACE(::testing::Message()
                 << "width " << width << ", base " << options.base << ", delta " << delta);
    EXPECT_TRUE(is_within(moved, exact_encoding(later, width, options), 2.7e-7));
    const std::vector<float> direct = encoding(later, width, options);
    // At positions up to 2^25, the error of an encoding is at most 4.7e-8.
    for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_NEAR(moved[i], direct[i], 3.2e-7);
  }
}

TEST_P(ShiftMatrixTest, shifts_add_up) {
  Random random;
  for (int round = 0; round < 20; ++round) {
    const std::int64_t width = 2 * random.integer(1, 20);
    const double first = random.uniform(-1000, 1000);
    const double second = random.uniform(-1000, 1000);
    const std::vector<float> x = random.normals(4 * width);
    const std::vector<float> both = shifted(x, width, first + second);
    const std::vector<float> one_by_one = shifted(shifted(x, width, first), width, second);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(both[i], one_by_one[i], 4e-6) << "width " << width;
    }
  }
}

TEST_P(ShiftMatrixTest, applied_to_any_rows_is_the_product_with_the_matrix) {
  Random random;
  for (const SinusoidalLayout layout : kLayouts) {
    for (const std::int64_t width : {2, 6, 16, 38}) {
      const ShiftOptions options{.layout = layout};
      const double delta = random.uniform(-50, 50);
      const std::vector<float> x = random.normals(5 * width, 10);
      const reference::Array m = exact_matrix(width, delta, options);
      reference::Array exact({5, width});
      reference::Array error({5, width});
      for (std::int64_t i = 0; i < 5; ++i) {
        for (std::int64_t r = 0; r < width; ++r) {
          for (std::int64_t c = 0; c < width; ++c) {
            if (m.at({r, c}) == 0) continue;
            exact.at({i, r}) += m.at({r, c}) * double{x[i * width + c]};
            error.at({i, r}) += 1.5e-7 * std::abs(double{x[i * width + c]});
          }
        }
      }
      EXPECT_TRUE(is_within(shifted(x, width, delta, options), exact, error)) << "width " << width;
    }
  }
}

TEST_P(ShiftMatrixTest, may_be_applied_in_place) {
  Random random;
  for (const SinusoidalLayout layout : kLayouts) {
    std::vector<float> x = random.normals(70 * 38);
    const std::vector<float> expected = shifted(x, 38, 2.5, {.layout = layout});
    attn::apply_shift({x.data(), {70, 38}}, 2.5, {x.data(), {70, 38}}, {.layout = layout},
                      context());
    EXPECT_TRUE(same_bits(x, expected));
  }
}

TEST_P(ShiftMatrixTest, is_applied_with_any_strides_in_a_batch) {
  Random random;
  const std::vector<float> x = random.normals(3 * 70 * 22);
  for (const SinusoidalLayout columns : kLayouts) {
    const std::vector<float> expected = shifted(x, 22, -4, {.layout = columns});
    for (const Layout from : {Layout::kContiguous, Layout::kSpread, Layout::kTransposed}) {
      for (const Layout to : {Layout::kContiguous, Layout::kSpread, Layout::kReversed}) {
        const FloatTensor input({3, 70, 22}, x, from);
        auto output = FloatTensor::filled({3, 70, 22}, 7.0F, to);
        attn::apply_shift(input.view(), -4, output.view(), {.layout = columns}, context());
        EXPECT_TRUE(same_bits(expected, output.values()));
        EXPECT_TRUE(output.gaps_are_untouched());
      }
    }
  }
}

TEST_P(ShiftMatrixTest, nan_reaches_only_its_own_pair) {
  std::vector<float> x(6, 1.0F);
  x[2] = std::nanf("");
  const std::vector<float> y = shifted(x, 6, 1);
  for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(std::isnan(y[c]), c == 2 || c == 3) << c;
}

TEST_P(ShiftMatrixTest, inputs_without_rows_are_accepted) {
  attn::apply_shift({nullptr, {0, 4}}, 1, {nullptr, {0, 4}}, {}, context());
  attn::apply_shift({nullptr, {0, 3, 4}}, 1, {nullptr, {0, 3, 4}}, {}, context());
}

// ---- Errors

TEST(ShiftMatrixErrorTest, odd_widths_have_no_shift_matrix) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  EXPECT_EQ(error_of([&] { attn::shift_matrix({p, {5, 5}}, 1); }),
            "shape_mismatch: output: got width 5, needs an even width, because the last sine of an "
            "odd width "
            "has no cosine and cannot be shifted alone");
  EXPECT_THAT(error_of([&] { attn::apply_shift({p, {2, 3}}, 1, {p + 32, {2, 3}}); }),
              StartsWith("shape_mismatch: encoding: got width 3"));
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

TEST(ShiftMatrixErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  EXPECT_EQ(error_of([&] { attn::shift_matrix({p, {4, 6}}, 1); }),
            "shape_mismatch: output: got shape (4, 6), needs shape (6, 6)");
  EXPECT_THAT(error_of([&] { attn::shift_matrix({p, {0, 0}}, 1); }), HasSubstr("got width 0"));
  EXPECT_THAT(error_of([&] { attn::shift_matrix({p, {4, 4}}, std::nan("")); }),
              StartsWith("invalid_argument: delta: got nan"));
  EXPECT_THAT(error_of([&] { attn::shift_matrix({p, {4, 4}}, 1, {.base = 0}); }),
              StartsWith("invalid_argument: base: got 0"));
  EXPECT_THAT(error_of([&] { attn::apply_shift({p, {4}}, 1, {p, {4}}); }),
              StartsWith("shape_mismatch: encoding: got shape (4), needs rank 2"));
  EXPECT_EQ(error_of([&] { attn::apply_shift({p, {2, 4}}, 1, {p + 32, {3, 4}}); }),
            "shape_mismatch: output: got shape (3, 4), needs shape (2, 4)");
  EXPECT_EQ(error_of([&] { attn::apply_shift({nullptr, {2, 4}}, 1, {p, {2, 4}}); }),
            "invalid_argument: encoding: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
