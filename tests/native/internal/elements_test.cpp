// Tests the conversions between float32 and stored types on every instruction set, over all 16-bit
// numbers and a sample of all floats.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attn/element_type.hpp"
#include "every_instruction_set.hpp"
#include "kernels/kernel_table.hpp"
#include "random.hpp"
#include "runtime/dispatch.hpp"

namespace {

using attn::BFloat16;
using attn::ElementType;
using attn::Float16;
using attn::kernels::NarrowArgs;
using attn::kernels::WidenArgs;

class ElementsTest : public attn_test::EveryInstructionSet {
 protected:
  const attn::kernels::KernelTable& kernels() const {
    return *attn::runtime::find_kernels(GetParam());
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(ElementsTest);

template <class T>
void expect_all_widen(const attn::kernels::KernelTable& kernels) {
  std::vector<T> all;
  for (int bits = 0; bits < 0x10000; ++bits) {
    all.push_back(T::from_bits(static_cast<std::uint16_t>(bits)));
  }
  std::vector<float> wide(all.size());
  WidenArgs args;
  args.rows = 1;
  args.cols = args.padded_cols = std::ssize(all);
  args.from.type = attn::kElementType<T>;
  args.from.data = all.data();
  args.to = {wide.data()};
  kernels.widen(args);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float want = all[i];
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(want)) << i;
    }
  }
}

TEST_P(ElementsTest, every_number_of_two_bytes_widens_exactly) {
  expect_all_widen<Float16>(kernels());
  expect_all_widen<BFloat16>(kernels());
}

/// Compares the kernels' rounding with the conversions of the public header, which other tests
/// check.
template <class T>
void expect_rounds(const attn::kernels::KernelTable& kernels) {
  std::vector<float> floats;
  for (std::uint64_t bits = 0; bits < 0x1'0000'0000; bits += 4099) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  // Tests floats close to every 16-bit number, and floats close to the midpoint between it and the
  // next 16-bit number.
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto wide = std::bit_cast<std::uint32_t>(
        static_cast<float>(T::from_bits(static_cast<std::uint16_t>(bits))));
    const std::uint32_t half = std::same_as<T, Float16> ? 0x1000 : 0x8000;
    for (const std::uint32_t more : {0U, half - 1, half, half + 1}) {
      floats.push_back(std::bit_cast<float>(wide + more));
    }
  }
  for (int i = 0; i < 2048; ++i) floats.push_back(static_cast<float>(i) * 0x1p-26F);
  std::vector<T> narrow(floats.size());
  NarrowArgs args;
  args.rows = 1;
  args.cols = std::ssize(floats);
  args.from = {floats.data()};
  args.type = attn::kElementType<T>;
  args.to = narrow.data();
  kernels.narrow(args);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (std::isnan(floats[i])) {
      ASSERT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << floats[i];
    } else {
      ASSERT_EQ(narrow[i].bits(), T(floats[i]).bits()) << floats[i];
    }
  }
}

TEST_P(ElementsTest, floats_round_to_nearest_ties_to_even) {
  expect_rounds<Float16>(kernels());
  expect_rounds<BFloat16>(kernels());
}

TEST_P(ElementsTest, any_widths_and_strides) {
  attn_test::Random random;
  for (const std::int64_t cols : {1, 2, 3, 7, 8, 15, 16, 17, 33}) {
    for (const std::int64_t col : {1, 3, -1}) {
      const std::int64_t rows = 5, row = 120, origin = col < 0 ? cols - 1 : 0;
      const std::vector<float> from = random.normals(rows * row);
      std::vector<Float16> narrow(from.size());
      NarrowArgs n;
      n.rows = rows;
      n.cols = cols;
      n.from = {from.data() + origin, row, col};
      n.type = ElementType::kFloat16;
      n.to = narrow.data() + origin;
      n.to_row = row;
      n.to_col = col;
      kernels().narrow(n);
      const std::int64_t padded = cols + 3;
      std::vector<float> wide(static_cast<std::size_t>(rows * padded + 1), 9.0F);
      WidenArgs w;
      w.rows = rows;
      w.cols = cols;
      w.padded_cols = padded;
      w.from = {ElementType::kFloat16, narrow.data() + origin, row, nullptr, 0};
      w.from_col = col;
      w.to = {wide.data(), padded};
      kernels().widen(w);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < padded; ++c) {
          const float want =
              c < cols ? Float16(from[static_cast<std::size_t>(origin + i * row + c * col)]) : 0.0F;
          ASSERT_EQ(wide[static_cast<std::size_t>(i * padded + c)], want);
        }
      }
      EXPECT_EQ(wide.back(), 9.0F);
    }
  }
}

TEST_P(ElementsTest, int8_rows_are_within_their_bound_and_report_numbers_that_are_not_finite) {
  attn_test::Random random;
  for (const std::int64_t cols : {1, 3, 16, 67, 128}) {
    std::vector<float> from = random.normals(6 * cols);
    const auto set_row = [&](std::int64_t row, float value) {
      std::fill_n(from.begin() + row * cols, cols, value);
    };
    set_row(1, 0.0F);
    set_row(2, 1e-40F);
    set_row(3, -std::numeric_limits<float>::max());
    from[static_cast<std::size_t>(4 * cols + cols / 2)] = std::numeric_limits<float>::quiet_NaN();
    from[static_cast<std::size_t>(5 * cols + cols - 1)] = -std::numeric_limits<float>::infinity();
    std::vector<std::int8_t> numbers(from.size());
    std::vector<float> scales(6), wide(from.size());
    NarrowArgs n;
    n.rows = 6;
    n.cols = cols;
    n.from = {from.data(), cols};
    n.type = ElementType::kInt8;
    n.to = numbers.data();
    n.to_row = cols;
    n.scales = scales.data();
    n.scale_row = 1;
    kernels().narrow(n);
    WidenArgs w;
    w.rows = 6;
    w.cols = w.padded_cols = cols;
    w.from = {ElementType::kInt8, numbers.data(), cols, scales.data(), 1};
    w.to = {wide.data(), cols};
    kernels().widen(w);
    for (std::int64_t i = 0; i < 6; ++i) {
      double largest = 0;
      for (std::int64_t c = 0; c < cols; ++c) {
        largest = std::max(largest, std::abs(double{from[static_cast<std::size_t>(i * cols + c)]}));
      }
      for (std::int64_t c = 0; c < cols; ++c) {
        const auto at = static_cast<std::size_t>(i * cols + c);
        if (i >= 4) {
          ASSERT_TRUE(std::isnan(wide[at])) << i;
        } else if (i == 1 || i == 2) {
          ASSERT_EQ(wide[at], 0.0F) << i;
        } else {
          ASSERT_LE(std::abs(double{wide[at]} - double{from[at]}), largest / 253) << i;
        }
      }
    }
  }
}

}  // namespace
