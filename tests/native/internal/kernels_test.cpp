// Tests the kernels of layers directly, with any strides and at sizes around multiples of tiles,
// vectors and panels. They must write nothing outside their output.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "kernels/kernel_table.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/array.hpp"
#include "runtime/dispatch.hpp"

namespace {

using attn::kernels::index;
using attn::kernels::KernelTable;
using attn::kernels::kPanelWidth;
using attn::kernels::Strided;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

constexpr double kUnit = 0x1p-24;

enum class Order {
  kRows,
  kRowsApart,
  kColumns,
  kColumnsApart,
  kSpread,
  kBackwards,
  kRowsBackwards
};
constexpr Order kOrders[] = {Order::kRows,         Order::kRowsApart, Order::kColumns,
                             Order::kColumnsApart, Order::kSpread,    Order::kBackwards,
                             Order::kRowsBackwards};

/// A matrix with its own unaligned memory. The memory around and between its elements contains NaN
/// with distinctive bits.
class Matrix {
 public:
  Matrix(index rows, index cols, const std::vector<float>& values, Order order)
      : rows_(rows), cols_(cols) {
    switch (order) {
      case Order::kRows:
        row_ = cols;
        break;
      case Order::kRowsApart:
        row_ = cols + 5;
        break;
      case Order::kColumns:
        row_ = 1, col_ = rows;
        break;
      case Order::kColumnsApart:
        row_ = 1, col_ = rows + 3;
        break;
      case Order::kSpread:
        row_ = 3 * cols + 7, col_ = 3;
        break;
      case Order::kBackwards:
        row_ = -cols, col_ = -1;
        break;
      case Order::kRowsBackwards:
        row_ = -(cols + 2);
        break;
    }
    const index last_row = std::max<index>(rows - 1, 0) * row_;
    const index last_col = std::max<index>(cols - 1, 0) * col_;
    origin_ = kGuard - std::min<index>(last_row, 0) - std::min<index>(last_col, 0);
    memory_.assign(
        static_cast<std::size_t>(2 * kGuard + 1 + std::abs(last_row) + std::abs(last_col)), gap());
    for (index i = 0; i < rows * cols; ++i) {
      at(i / cols, i % cols) = values[static_cast<std::size_t>(i)];
    }
  }
  /// A matrix that receives results.
  Matrix(index rows, index cols, Order order)
      : Matrix(rows, cols, std::vector<float>(static_cast<std::size_t>(rows * cols), -7.5F),
               order) {}

  float* data() { return memory_.data() + origin_; }
  index row() const { return row_; }
  index col() const { return col_; }
  Strided<float> strided() { return {data(), row_, col_}; }

  std::vector<float> values() const {
    std::vector<float> values;
    for (index i = 0; i < rows_ * cols_; ++i) {
      values.push_back(memory_[place(i / cols_, i % cols_)]);
    }
    return values;
  }

  bool gaps_are_untouched() const {
    std::vector<float> rest = memory_;
    const float gap_bits = gap();
    for (index i = 0; i < rows_ * cols_; ++i) rest[place(i / cols_, i % cols_)] = gap_bits;
    return std::ranges::all_of(
        rest, [&](const float& x) { return std::memcmp(&x, &gap_bits, sizeof x) == 0; });
  }

 private:
  static constexpr index kGuard = 41;

  static float gap() { return std::nanf("4711"); }
  std::size_t place(index r, index c) const {
    return static_cast<std::size_t>(origin_ + r * row_ + c * col_);
  }
  float& at(index r, index c) { return memory_[place(r, c)]; }

  index rows_, cols_;
  index row_ = 0, col_ = 1;
  index origin_ = 0;
  std::vector<float> memory_;
};

/// Memory for a kernel's scratch data or output, surrounded by guard elements and aligned like the
/// core's own memory.
class Guarded {
 public:
  explicit Guarded(index count) : count_(count) {
    memory_.assign(static_cast<std::size_t>(count + 3 * kGuard), kGap);
    const auto past = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(float) % kGuard;
    begin_ = 2 * kGuard - static_cast<index>(past);
  }
  float* data() { return memory_.data() + begin_; }
  std::vector<float> values() const {
    return {memory_.begin() + begin_, memory_.begin() + begin_ + count_};
  }
  bool is_untouched_around() const {
    const auto is_gap = [](float x) { return x == kGap; };
    return std::all_of(memory_.begin(), memory_.begin() + begin_, is_gap) &&
           std::all_of(memory_.begin() + begin_ + count_, memory_.end(), is_gap);
  }

 private:
  static constexpr index kGuard = 16;
  static constexpr float kGap = -4711;
  index count_, begin_ = 0;
  std::vector<float> memory_;
};

/// Random numbers, which sometimes include NaN, an infinity, zeros of both signs or a subnormal
/// number.
std::vector<float> any_numbers(index count, Random& random) {
  std::vector<float> values = random.normals(count);
  for (float& value : values) {
    if (!random.chance(0.05)) continue;
    value = random.pick<float>({kNaN, kInfinity, -kInfinity, 0.0F, -0.0F, 1e-40F, -3e38F});
  }
  return values;
}

/// Compares numbers bit by bit, except that all NaNs count as equal.
::testing::AssertionResult same_numbers(std::vector<float> got, std::vector<float> want) {
  for (auto* values : {&got, &want}) {
    for (float& x : *values) x = std::isnan(x) ? kNaN : x;
  }
  return same_bits(got, want);
}

class KernelsTest : public attn_test::EveryInstructionSet {
 protected:
  const KernelTable& kernels() const { return *attn::runtime::find_kernels(GetParam()); }

  /// Sizes around multiples of vectors, panels and tiles.
  static const std::vector<index>& sizes() {
    static const std::vector<index> all{1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13, 15,
                                        16, 17, 19, 23, 24, 25, 31, 32, 33, 47, 48, 49};
    return all;
  }
  static Order any_order(Random& random) {
    return kOrders[static_cast<std::size_t>(random.integer(0, std::ssize(kOrders) - 1))];
  }

  /// Packs b, a matrix (cols × depth), into panels.
  std::vector<float> packed(Matrix& b, index cols, index depth) const {
    Guarded out(attn::kernels::packed_size(cols, depth));
    kernels().pack(cols, depth, b.data(), b.row(), b.col(), out.data());
    EXPECT_TRUE(out.is_untouched_around());
    return out.values();
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(KernelsTest);

TEST_P(KernelsTest, pack_puts_columns_into_panels) {
  Random random;
  std::vector<index> depths = sizes();
  depths.insert(depths.end(), {0, 127, 257});
  for (const index cols : sizes()) {
    for (const index depth : depths) {
      const std::vector<float> values = any_numbers(cols * depth, random);
      std::vector<float> expected;
      for (index panel = 0; panel < cols; panel += kPanelWidth) {
        for (index k = 0; k < depth; ++k) {
          for (index c = panel; c < panel + kPanelWidth; ++c) {
            expected.push_back(c < cols ? values[static_cast<std::size_t>(c * depth + k)] : 0.0F);
          }
        }
      }
      for (const Order order : kOrders) {
        Matrix b(cols, depth, values, order);
        ASSERT_TRUE(same_numbers(packed(b, cols, depth), expected))
            << cols << " columns, depth " << depth << ", order " << static_cast<int>(order);
        ASSERT_TRUE(b.gaps_are_untouched());
      }
    }
  }
}

struct ProductCase {
  index rows, cols, depth;
  bool bias = false;
  Order a = Order::kRows, b = Order::kRows, c = Order::kRows;
};

std::ostream& operator<<(std::ostream& out, const ProductCase& p) {
  return out << p.rows << " × " << p.cols << ", depth " << p.depth << (p.bias ? ", bias" : "")
             << ", orders " << static_cast<int>(p.a) << ", " << static_cast<int>(p.b) << ", "
             << static_cast<int>(p.c);
}

class ProductKernelTest : public KernelsTest {
 protected:
  /// Computes C = A · Bᵀ + bias in one call and row by row, and compares the results with sums in
  /// double precision.
  void check(const ProductCase& p, const std::vector<float>& a_values,
             const std::vector<float>& b_values, const std::vector<float>& bias) const {
    SCOPED_TRACE(::testing::PrintToString(p));
    Matrix a(p.rows, p.depth, a_values, p.a), b(p.cols, p.depth, b_values, p.b);
    Matrix c(p.rows, p.cols, p.c), by_rows(p.rows, p.cols, p.c);
    const std::vector<float> panels = packed(b, p.cols, p.depth);
    Guarded packed_b(std::ssize(panels));
    std::ranges::copy(panels, packed_b.data());
    const auto call = [&](Matrix& to, index first, index rows) {
      Guarded scratch(kernels().product_scratch(p.depth));
      kernels().product({.rows = rows,
                         .cols = p.cols,
                         .depth = p.depth,
                         .a = a.strided().rows_from(first),
                         .packed_b = packed_b.data(),
                         .bias = p.bias ? bias.data() : nullptr,
                         .c = to.strided().rows_from(first)},
                        scratch.data());
      EXPECT_TRUE(scratch.is_untouched_around());
    };
    call(c, 0, p.rows);
    for (index r = 0; r < p.rows; ++r) call(by_rows, r, 1);
    EXPECT_TRUE(c.gaps_are_untouched());
    EXPECT_TRUE(by_rows.gaps_are_untouched());
    EXPECT_TRUE(same_numbers(c.values(), by_rows.values())) << "in one call and row by row";

    Array exact({p.rows, p.cols}), error({p.rows, p.cols});
    for (index r = 0; r < p.rows; ++r) {
      for (index j = 0; j < p.cols; ++j) {
        double sum = 0, magnitude = 0;
        for (index k = 0; k < p.depth; ++k) {
          const double term =
              static_cast<double>(a_values[static_cast<std::size_t>(r * p.depth + k)]) *
              static_cast<double>(b_values[static_cast<std::size_t>(j * p.depth + k)]);
          sum += term;
          magnitude += std::abs(term);
        }
        if (p.bias) {
          sum += static_cast<double>(bias[static_cast<std::size_t>(j)]);
          magnitude += std::abs(static_cast<double>(bias[static_cast<std::size_t>(j)]));
        }
        exact.at({r, j}) = sum;
        error.at({r, j}) = kUnit * static_cast<double>(p.depth + 2) * magnitude;
      }
    }
    EXPECT_TRUE(is_within(c.values(), exact, error));
  }

  void check(const ProductCase& p, Random& random) const {
    check(p, random.normals(p.rows * p.depth), random.normals(p.cols * p.depth),
          random.normals(p.cols));
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(ProductKernelTest);

TEST_P(ProductKernelTest, is_right_at_the_edges_of_tiles) {
  Random random;
  const index tile = kernels().product_tile_rows, task = kernels().product_rows;
  for (const index rows : {index{0}, index{1}, tile - 1, tile, tile + 1, 2 * tile + 1}) {
    for (const index cols : sizes()) {
      for (const index depth : {index{0}, index{1}, index{2}, index{7}, index{31}}) {
        check({.rows = rows, .cols = cols, .depth = depth, .bias = random.chance(0.5)}, random);
        if (HasFailure()) return;
      }
    }
  }
  check({.rows = task + 1, .cols = 17, .depth = 5}, random);
  check({.rows = 3, .cols = 0, .depth = 5, .bias = true}, random);
}

TEST_P(ProductKernelTest, takes_any_strides) {
  Random random;
  for (const Order a : kOrders) {
    for (const Order b : kOrders) {
      for (const Order c : kOrders) {
        for (const bool bias : {false, true}) {
          check({.rows = random.integer(1, 20),
                 .cols = random.pick(sizes()),
                 .depth = random.pick(sizes()),
                 .bias = bias,
                 .a = a,
                 .b = b,
                 .c = c},
                random);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// The depth is divided into blocks of 256 and the columns into blocks of 512. Rows with a stride of
// 1024 floats are copied.
TEST_P(ProductKernelTest, is_right_across_blocks) {
  Random random;
  for (const index depth : {255, 256, 257, 511, 513, 1024}) {
    check({.rows = 5, .cols = 17, .depth = depth, .bias = true, .c = any_order(random)}, random);
  }
  for (const index cols : {511, 512, 513, 1025}) {
    check({.rows = 7, .cols = cols, .depth = 33, .a = any_order(random)}, random);
    check({.rows = 3, .cols = cols, .depth = 259, .bias = true}, random);
  }
}

TEST_P(ProductKernelTest, is_right_if_a_is_stored_transposed) {
  Random random;
  for (const index rows : {15, 16, 17, 28, 31, 33, 47, 59}) {
    for (const index depth : {1, 5, 300}) {
      for (const Order a : {Order::kColumns, Order::kColumnsApart}) {
        check({.rows = rows, .cols = 35, .depth = depth, .bias = true, .a = a}, random);
      }
    }
  }
}

TEST_P(ProductKernelTest, nan_and_infinity_stay_in_their_rows_and_columns) {
  Random random;
  for (int i = 0; i < 60; ++i) {
    const ProductCase p{.rows = random.integer(1, 20),
                        .cols = random.pick(sizes()),
                        .depth = random.pick(sizes()),
                        .bias = random.chance(0.5),
                        .a = any_order(random),
                        .b = any_order(random),
                        .c = any_order(random)};
    const auto few = [&](index count) {
      std::vector<float> values = random.normals(count);
      for (float& x : values) {
        if (random.chance(0.01)) x = random.pick<float>({kNaN, kInfinity, -kInfinity});
      }
      return values;
    };
    check(p, few(p.rows * p.depth), few(p.cols * p.depth), few(p.cols));
    if (HasFailure()) return;
  }
}

TEST_P(KernelsTest, add_takes_any_strides_and_works_in_place) {
  Random random;
  for (const index cols : sizes()) {
    for (const Order order : kOrders) {
      const index rows = random.integer(1, 4), count = rows * cols;
      const std::vector<float> x = any_numbers(count, random), y = any_numbers(count, random);
      std::vector<float> expected;
      for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] + y[i]);
      Matrix a(rows, cols, x, order), b(rows, cols, y, any_order(random));
      Matrix out(rows, cols, any_order(random));
      const auto call = [&](Matrix& to) {
        kernels().add({rows,
                       cols,
                       {a.data(), a.row(), a.col()},
                       {b.data(), b.row(), b.col()},
                       {to.data(), to.row(), to.col()}});
        EXPECT_TRUE(to.gaps_are_untouched());
        EXPECT_TRUE(same_numbers(to.values(), expected)) << rows << " × " << cols;
      };
      call(out);
      call(random.chance(0.5) ? a : b);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KernelsTest, the_tests_list_every_activation) {
  const auto next = static_cast<attn::Activation>(std::size(reference::kActivations));
  EXPECT_EQ(kernels().activation(next), nullptr);
}

TEST_P(KernelsTest, activations_take_any_strides_and_work_in_place) {
  Random random;
  for (const attn::Activation activation : reference::kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    const attn::kernels::MapKernel kernel = kernels().activation(activation);
    for (const index cols : sizes()) {
      for (const Order order : kOrders) {
        const index rows = random.integer(0, 4);
        const bool gates = random.chance(0.4);
        const std::vector<float> values = random.normals(rows * cols, 4);
        const std::vector<float> factors = random.normals(rows * cols);
        Matrix x(rows, cols, values, order), out(rows, cols, any_order(random));
        Matrix factor(rows, cols, factors, any_order(random));
        Array expected({rows, cols}), bound({rows, cols});
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double times = gates ? static_cast<double>(factors[i]) : 1;
          const double x_i = values[i];
          const double exact = reference::activate(activation, x_i);
          expected.values[i] = exact * times;
          // The stated errors are relative to x or to f(x), whichever is larger.
          bound.values[i] = 5e-7 * std::max(std::abs(x_i), std::abs(exact)) * std::abs(times) +
                            kUnit * std::abs(expected.values[i]);
        }
        const auto call = [&](Matrix& to) {
          kernel({.rows = rows,
                  .cols = cols,
                  .x = x.strided(),
                  .factor = gates ? factor.strided() : Strided<float>(),
                  .out = to.strided()});
          ASSERT_TRUE(to.gaps_are_untouched());
        };
        call(out);
        ASSERT_TRUE(is_within(out.values(), expected, bound));
        Matrix& in_place = gates && random.chance(0.5) ? factor : x;
        call(in_place);
        ASSERT_TRUE(same_bits(in_place.values(), out.values()));
      }
    }
  }
}

TEST_P(KernelsTest, rotation_takes_any_strides_and_works_in_place) {
  Random random;
  for (const index half : sizes()) {
    for (const Order order : kOrders) {
      const bool interleaved = random.chance(0.5), one_table = random.chance(0.3);
      const index cols = 2 * half, rows = random.integer(1, 4), tables = one_table ? 1 : rows;
      const std::vector<float> values = random.normals(rows * cols);
      const std::vector<float> keep = random.normals(tables * cols);
      const std::vector<float> cross = random.normals(tables * cols);
      Array expected({rows, cols}), bound({rows, cols});
      for (index i = 0; i < rows; ++i) {
        for (index c = 0; c < cols; ++c) {
          const index partner = interleaved ? c ^ 1 : (c + half) % cols;
          const auto in_table = static_cast<std::size_t>((one_table ? 0 : i) * cols + c);
          const double own = static_cast<double>(keep[in_table]) *
                             static_cast<double>(values[static_cast<std::size_t>(i * cols + c)]);
          const double others =
              static_cast<double>(cross[in_table]) *
              static_cast<double>(values[static_cast<std::size_t>(i * cols + partner)]);
          expected.at({i, c}) = own + others;
          bound.at({i, c}) = 2 * kUnit * (std::abs(own) + std::abs(others));
        }
      }
      Matrix x(rows, cols, values, order), out(rows, cols, any_order(random));
      const auto call = [&](Matrix& to) {
        kernels().rotate_pairs({rows,
                                cols,
                                interleaved,
                                keep.data(),
                                cross.data(),
                                one_table ? 0 : cols,
                                {x.data(), x.row(), x.col()},
                                {to.data(), to.row(), to.col()}});
        EXPECT_TRUE(to.gaps_are_untouched());
        EXPECT_TRUE(is_within(to.values(), expected, bound)) << rows << " × " << cols;
      };
      call(out);
      call(x);
      EXPECT_TRUE(same_bits(x.values(), out.values()));
      if (HasFailure()) return;
    }
  }
}

// The kernels of masked softmax and of attention use the same exponential.
TEST_P(KernelsTest, softmax_takes_any_strides_lengths_and_masks) {
  Random random;
  std::vector<index> widths = sizes();
  widths.insert(widths.end(), {255, 257, 1031});
  for (const index cols : widths) {
    for (const Order order : kOrders) {
      const index rows = random.integer(1, 4);
      std::vector<float> values = random.normals(rows * cols, 6);
      std::vector<std::uint8_t> mask(values.size());
      for (std::uint8_t& bit : mask) bit = random.chance(0.7) ? 1 : 0;
      std::vector<std::int32_t> lengths;
      for (index i = 0; i < rows; ++i) {
        lengths.push_back(static_cast<std::int32_t>(random.integer(0, cols)));
      }
      const bool masked = random.chance(0.5), cut = random.chance(0.5);
      const auto takes_part = [&](index i, index c) {
        return (!masked || mask[static_cast<std::size_t>(i * cols + c)] != 0) &&
               (!cut || c < lengths[static_cast<std::size_t>(i)]);
      };
      Array expected({rows, cols}), bound({rows, cols});
      for (index i = 0; i < rows; ++i) {
        const auto x = [&](index c) -> float& {
          return values[static_cast<std::size_t>(i * cols + c)];
        };
        // Excluded elements may have any value.
        for (index c = 0; c < cols; ++c) {
          if (!takes_part(i, c)) x(c) = random.pick<float>({kNaN, kInfinity, 1e30F});
          if (takes_part(i, c) && random.chance(0.05)) x(c) = -kInfinity;
        }
        if (random.chance(0.05) && takes_part(i, 0)) x(0) = kNaN;
        double largest = -kInfinity, sum = 0;
        bool is_nan = false;
        for (index c = 0; c < cols; ++c) {
          if (!takes_part(i, c)) continue;
          is_nan |= std::isnan(x(c));
          largest = std::max(largest, static_cast<double>(x(c)));
        }
        const auto term = [&](index c) {
          return takes_part(i, c) && x(c) != -kInfinity ? std::exp(x(c) - largest) : 0.0;
        };
        for (index c = 0; c < cols; ++c) sum += term(c);
        for (index c = 0; c < cols; ++c) {
          double& want = expected.at({i, c});
          want = term(c) / (sum > 0 ? sum : 1);
          const double away = want > 0 ? largest - static_cast<double>(x(c)) : 0;
          bound.at({i, c}) = want * kUnit * (2.5 * away + 32) + 0x1p-126;
          if (is_nan && takes_part(i, c)) want = kNaN;
        }
      }
      Matrix x(rows, cols, values, order), out(rows, cols, any_order(random));
      const auto call = [&](Matrix& to) {
        Guarded scratch((cols + kernels().vector_width - 1) / kernels().vector_width *
                        kernels().vector_width);
        kernels().softmax({.rows = rows,
                           .cols = cols,
                           .x = x.strided(),
                           .out = to.strided(),
                           .lengths = cut ? lengths.data() : nullptr,
                           .length_row = 1,
                           .mask = {masked ? mask.data() : nullptr, cols}},
                          scratch.data());
        EXPECT_TRUE(scratch.is_untouched_around());
        EXPECT_TRUE(to.gaps_are_untouched());
        EXPECT_TRUE(is_within(to.values(), expected, bound))
            << rows << " × " << cols << (masked ? ", mask" : "") << (cut ? ", lengths" : "");
      };
      call(out);
      call(x);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KernelsTest, layer_norm_takes_any_strides_and_works_in_place) {
  Random random;
  std::vector<index> widths = sizes();
  widths.insert(widths.end(), {255, 257, 1031});
  for (const index cols : widths) {
    for (const Order order : kOrders) {
      const index rows = random.integer(1, 4), count = rows * cols;
      const bool sums = random.chance(0.5), weighted = random.chance(0.7);
      const bool biased = weighted && random.chance(0.5);
      std::vector<float> values = random.normals(count);
      const std::vector<float> added = random.normals(count), weight = random.normals(cols),
                               bias = random.normals(cols);
      constexpr float kEpsilon = 1e-3F;
      const index spoilt = random.chance(0.1) ? random.integer(0, count - 1) : -1;
      if (spoilt >= 0)
        values[static_cast<std::size_t>(spoilt)] = random.pick<float>({kNaN, kInfinity});
      Array expected({rows, cols}), bound({rows, cols});
      for (index i = 0; i < rows; ++i) {
        std::vector<double> row;
        double mean = 0, variance = 0, largest = 0;
        for (index c = 0; c < cols; ++c) {
          const auto at = static_cast<std::size_t>(i * cols + c);
          row.push_back(static_cast<double>(values[at]) +
                        (sums ? static_cast<double>(added[at]) : 0));
          mean += row.back() / static_cast<double>(cols);
          largest = std::max(largest, std::abs(row.back()));
        }
        for (const double x : row) variance += (x - mean) * (x - mean) / static_cast<double>(cols);
        const double deviation = std::sqrt(variance + static_cast<double>(kEpsilon));
        const bool is_nan = !std::isfinite(mean);
        for (index c = 0; c < cols; ++c) {
          const auto at = static_cast<std::size_t>(c);
          const double scale = weighted ? static_cast<double>(weight[at]) : 1;
          const double offset = biased ? static_cast<double>(bias[at]) : 0;
          const double y = (row[at] - mean) / deviation;
          expected.at({i, c}) = is_nan ? kNaN : y * scale + offset;
          // Allows one rounding of the sum of x and the addend, followed by a dozen roundings of
          // the result.
          bound.at({i, c}) = 8 * kUnit * std::abs(scale) * largest / deviation +
                             24 * kUnit * (std::abs(y * scale) + std::abs(offset));
        }
      }
      Matrix x(rows, cols, values, order), addend(rows, cols, added, any_order(random));
      Matrix out(rows, cols, any_order(random));
      const auto call = [&](Matrix& to) {
        Guarded scratch((cols + kernels().vector_width - 1) / kernels().vector_width *
                        kernels().vector_width);
        kernels().norm({.rows = rows,
                        .cols = cols,
                        .x = x.strided(),
                        .addend = sums ? addend.strided() : Strided<float>(),
                        .weight = weighted ? weight.data() : nullptr,
                        .bias = biased ? bias.data() : nullptr,
                        .epsilon = kEpsilon,
                        .out = to.strided()},
                       scratch.data());
        EXPECT_TRUE(scratch.is_untouched_around());
        EXPECT_TRUE(to.gaps_are_untouched());
        EXPECT_TRUE(is_within(to.values(), expected, bound)) << rows << " × " << cols;
      };
      call(out);
      call(sums && random.chance(0.5) ? addend : x);
      if (HasFailure()) return;
    }
  }
}

// Tests one step of a recurrent layer. The kernel may read up to one panel past the end of its
// rows. It may also write past the end of the rows of the next state.
TEST_P(KernelsTest, recurrent_cells_agree_with_their_equations) {
  Random random;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (const index hidden : sizes()) {
    for (const int gates : {1, 3}) {
      const index rows = random.integer(1, 4), width = gates * hidden;
      const index input_row = width + random.integer(0, 5), state_row = hidden + kPanelWidth + 3;
      const auto numbers = [&](index row) { return random.normals(rows * row + kPanelWidth, 2); };
      std::vector<float> x = numbers(input_row), h = numbers(input_row), state = numbers(state_row);
      if (random.chance(0.2)) x[0] = kNaN;
      if (random.chance(0.2)) x[static_cast<std::size_t>(width - 1)] = kInfinity;
      for (const bool relu : {false, true}) {
        if (gates == 3 && relu) continue;
        std::vector<float> next(static_cast<std::size_t>(rows * state_row + kPanelWidth), -7.5F);
        const attn::kernels::RecurrentCellArgs args{.rows = rows,
                                                    .hidden = hidden,
                                                    .from_input = x.data(),
                                                    .from_input_row = input_row,
                                                    .from_state = h.data(),
                                                    .from_state_row = input_row,
                                                    .state = state.data(),
                                                    .next_state = next.data(),
                                                    .state_row = state_row,
                                                    .relu = relu};
        gates == 3 ? kernels().gru_cell(args) : kernels().rnn_cell(args);
        Array expected({rows, hidden}), bound({rows, hidden});
        std::vector<float> got;
        for (index i = 0; i < rows; ++i) {
          for (index c = 0; c < hidden; ++c) {
            const auto of = [&](const std::vector<float>& from, int gate) {
              return static_cast<double>(
                  from[static_cast<std::size_t>(i * input_row + gate * hidden + c)]);
            };
            const auto at = static_cast<std::size_t>(i * state_row + c);
            double& want = expected.at({i, c});
            const double sum = of(x, 0) + of(h, 0);
            double size = std::abs(of(x, 0)) + std::abs(of(h, 0));
            if (gates == 3) {
              const double reset = sigmoid(sum), update = sigmoid(of(x, 1) + of(h, 1));
              const double candidate = std::tanh(of(x, 2) + reset * of(h, 2));
              want = (1 - update) * candidate + update * static_cast<double>(state[at]);
              size = 1 + std::abs(static_cast<double>(state[at]));
              for (int gate = 0; gate < 3; ++gate) {
                size += std::abs(of(x, gate)) + std::abs(of(h, gate));
              }
            } else {
              want = relu ? (sum < 0 ? 0 : sum) : std::tanh(sum);
            }
            // The slopes of the activations are at most 1, and the error of tanh itself is 3e-7.
            bound.at({i, c}) = 4 * kUnit * (std::isfinite(size) ? size : 1) + (relu ? 0 : 1e-6);
            got.push_back(next[at]);
          }
          for (index c = hidden + kPanelWidth; c < state_row; ++c) {
            ASSERT_EQ(next[static_cast<std::size_t>(i * state_row + c)], -7.5F) << hidden;
          }
        }
        ASSERT_TRUE(is_within(got, expected, bound))
            << rows << " × " << hidden << ", gates " << gates << (relu ? ", relu" : "");
      }
    }
  }
}

// Compares the words with Philox4x32-10, implemented as its paper describes.
TEST_P(KernelsTest, random_words_match_philox) {
  Random random;
  const auto philox = [](std::uint64_t seed, std::uint64_t stream, std::uint64_t block, int word) {
    std::uint32_t c[4] = {
        static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = 0xD2511F53ULL * c[0], b = 0xCD9E8D57ULL * c[2];
      const std::uint32_t next[4] = {
          static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
      std::ranges::copy(next, c);
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    return c[word];
  };
  // Test vectors from the Philox paper. In the first, all bits of the counter and the key are 0; in
  // the second, all these bits are 1.
  EXPECT_EQ(philox(0, 0, 0, 0), 0x6627E8D5U);
  EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL, 0), 0x408F276DU);
  for (index blocks = 0; blocks <= 19; ++blocks) {
    // In every second round, the counter of the first block is just below 2^32.
    const std::uint64_t seed = random.engine()(), stream = random.engine()();
    const std::uint64_t first = blocks % 2 == 0 ? 0xFFFFFFFAULL : random.engine()() >> 8;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(4 * blocks + 8), 4711);
    kernels().random_words(seed, stream, first, blocks, words.data());
    for (index i = 0; i < 4 * blocks; ++i) {
      ASSERT_EQ(
          words[static_cast<std::size_t>(i)],
          philox(seed, stream, first + static_cast<std::uint64_t>(i / 4), static_cast<int>(i % 4)))
          << "word " << i << " of " << blocks << " blocks";
    }
    for (index i = 4 * blocks; i < 4 * blocks + 8; ++i) {
      ASSERT_EQ(words[static_cast<std::size_t>(i)], 4711U);
    }
  }
}

}  // namespace
