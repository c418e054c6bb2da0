// Tests products of bf16 pairs, for every kernel table that has them.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attn/element_type.hpp"
#include "bf16/emulated_bf16.hpp"
#include "compare.hpp"
#include "random.hpp"
#include "reference/array.hpp"

namespace {

using attn::BFloat16;
using attn::kernels::Bf16Pair;
using attn::kernels::Bf16ProductArgs;
using attn::kernels::Bf16Table;
using attn::kernels::index;
using attn::kernels::Strided;
using attn_test::Bf16Kernels;
using attn_test::kInfinity;
using attn_test::Random;

std::vector<std::uint16_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(BFloat16(value).bits());
  return bits;
}

float widened(std::uint16_t bits) { return BFloat16::from_bits(bits); }

/// Packs b into panels of 16 columns, with pairs along the depth, and pads them with zeros.
std::vector<Bf16Pair> packed(index cols, index depth, const std::vector<std::uint16_t>& b) {
  const auto at = [&](index col, index k) {
    return col < cols && k < depth ? b[static_cast<std::size_t>(col * depth + k)]
                                   : std::uint16_t{0};
  };
  std::vector<Bf16Pair> pairs;
  for (index col = 0; col < cols; col += 16) {
    for (index k = 0; k < depth; k += 2) {
      for (index c = col; c < col + 16; ++c) pairs.push_back({at(c, k), at(c, k + 1)});
    }
  }
  return pairs;
}

/// The type and layout of the matrix A.
enum class From { kFloat, kBf16, kBf16Apart, kBf16Columns };

/// Computes C = A · Bᵀ + bias for row-major matrices in one call.
std::vector<float> product(const Bf16Table& table, index rows, index cols, index depth,
                           const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b,
                           const std::vector<float>& bias, From from) {
  const std::vector<Bf16Pair> pairs = packed(cols, depth, b);
  std::vector<float> c(static_cast<std::size_t>(rows * cols), -7.0F);
  std::vector<float> scratch(static_cast<std::size_t>(table.product_scratch(depth)));
  Bf16ProductArgs args;
  args.rows = rows;
  args.cols = cols;
  args.depth = depth;
  std::vector<float> floats;
  std::vector<std::uint16_t> copy;
  if (from == From::kFloat) {
    for (const std::uint16_t bits : a) floats.push_back(widened(bits));
    args.a = {floats.data(), depth};
  } else {
    copy.assign(static_cast<std::size_t>((rows + 1) * (depth + 3)), 0x7FFF);
    Strided<std::uint16_t> copied{copy.data(), from == From::kBf16Apart ? depth + 3 : depth};
    if (from == From::kBf16Columns) copied = {copy.data(), 1, rows};
    for (index r = 0; r < rows; ++r) {
      for (index k = 0; k < depth; ++k) copied(r, k) = a[static_cast<std::size_t>(r * depth + k)];
    }
    args.bf16_a = copied;
  }
  args.packed_b = pairs.data();
  args.bias = bias.empty() ? nullptr : bias.data();
  args.c = {c.data(), cols};
  table.product(args, scratch.data());
  return c;
}

struct Size {
  index rows, cols, depth;
};
constexpr Size kSizes[] = {{1, 1, 1},     {3, 5, 2},     {14, 32, 64},  {15, 33, 65},
                           {29, 17, 7},   {16, 16, 0},   {2, 70, 513},  {7, 9, 1025},
                           {4, 530, 31},  {47, 31, 100}, {64, 48, 128}, {40, 20, 1088},
                           {17, 80, 1059}};

TEST(Bf16ProductTest, is_within_the_stated_bound) {
  Random random;
  for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
    const Bf16Table* table = kernels.table;
    for (const Size& size : kSizes) {
      const auto [rows, cols, depth] = size;
      const auto a = bits_of(random.normals(rows * depth));
      const auto b = bits_of(random.normals(cols * depth));
      const std::vector<float> bias = random.normals(cols);
      reference::Array exact({rows, cols}), error({rows, cols});
      for (index r = 0; r < rows; ++r) {
        for (index c = 0; c < cols; ++c) {
          double sum = bias[static_cast<std::size_t>(c)];
          double magnitude = std::abs(sum);
          for (index k = 0; k < depth; ++k) {
            const double product =
                static_cast<double>(widened(a[static_cast<std::size_t>(r * depth + k)])) *
                static_cast<double>(widened(b[static_cast<std::size_t>(c * depth + k)]));
            sum += product;
            magnitude += std::abs(product);
          }
          exact.at({r, c}) = sum;
          error.at({r, c}) = static_cast<double>(depth + 1) * 0x1p-24 * magnitude;
        }
      }
      for (const From from : {From::kFloat, From::kBf16, From::kBf16Apart, From::kBf16Columns}) {
        EXPECT_TRUE(attn_test::is_within(product(*table, rows, cols, depth, a, b, bias, from),
                                         exact, error))
            << kernels.name << ": " << rows << ", " << cols << ", " << depth;
      }
    }
  }
}

TEST(Bf16ProductTest, rows_do_not_depend_on_each_other) {
  Random random;
  const Size size{33, 40, 600};
  const auto a = bits_of(random.normals(size.rows * size.depth));
  const auto b = bits_of(random.normals(size.cols * size.depth));
  for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
    const Bf16Table* table = kernels.table;
    const auto all = product(*table, size.rows, size.cols, size.depth, a, b, {}, From::kFloat);
    for (index r = 0; r < size.rows; ++r) {
      const std::vector<std::uint16_t> row(a.begin() + r * size.depth,
                                           a.begin() + (r + 1) * size.depth);
      EXPECT_TRUE(
          attn_test::same_bits(product(*table, 1, size.cols, size.depth, row, b, {}, From::kBf16),
                               {all.begin() + r * size.cols, all.begin() + (r + 1) * size.cols}));
    }
  }
}

TEST(Bf16ProductTest, results_may_be_strided) {
  Random random;
  for (const auto& [rows, cols, depth] : {Size{40, 50, 700}, {5, 64, 32}}) {
    const auto a = bits_of(random.normals(rows * depth));
    const auto b = bits_of(random.normals(cols * depth));
    const std::vector<Bf16Pair> pairs = packed(cols, depth, b);
    for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
      const auto together = product(*kernels.table, rows, cols, depth, a, b, {}, From::kBf16);
      std::vector<float> apart(static_cast<std::size_t>(2 * rows * cols), -7.0F);
      std::vector<float> scratch(static_cast<std::size_t>(kernels.table->product_scratch(depth)));
      Bf16ProductArgs args;
      args.rows = rows;
      args.cols = cols;
      args.depth = depth;
      args.bf16_a = {a.data(), depth};
      args.packed_b = pairs.data();
      args.c = {apart.data(), 2, 2 * rows};
      kernels.table->product(args, scratch.data());
      for (index r = 0; r < rows; ++r) {
        for (index c = 0; c < cols; ++c) {
          const auto place = static_cast<std::size_t>(2 * (c * rows + r));
          ASSERT_EQ(apart[place], together[static_cast<std::size_t>(r * cols + c)]) << kernels.name;
          ASSERT_EQ(apart[place + 1], -7.0F);
        }
      }
    }
  }
}

TEST(Bf16ProductTest, numbers_stored_after_the_columns_have_no_effect) {
  Random random;
  const index rows = 20, depth = 37;
  const auto a = bits_of(random.normals(rows * depth));
  std::vector<std::uint16_t> b = bits_of(random.normals(16 * depth));
  b.resize(static_cast<std::size_t>(48 * depth), BFloat16(kInfinity).bits());
  for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
    const auto got = product(*kernels.table, rows, 48, depth, a, b, {}, From::kBf16);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::isfinite(got[i]), i % 48 < 16) << kernels.name;
    }
  }
}

/// Numbers with random bits, including subnormal numbers, infinities and NaN.
std::vector<std::uint16_t> any_bits(index count, Random& random) {
  std::vector<std::uint16_t> result;
  for (index i = 0; i < count; ++i) {
    result.push_back(static_cast<std::uint16_t>(random.integer(0, 0xFFFF)));
  }
  return result;
}

/// Numbers whose products are close to the smallest normal number.
std::vector<std::uint16_t> small_bits(index count, Random& random) {
  std::vector<std::uint16_t> result;
  for (index i = 0; i < count; ++i) {
    const auto exponent = static_cast<int>(random.integer(-67, -58));
    result.push_back(BFloat16(std::ldexp(random.normal(), exponent)).bits());
  }
  return result;
}

void expect_the_bits_of_the_emulation(const std::vector<std::uint16_t>& a,
                                      const std::vector<std::uint16_t>& b, index depth) {
  const auto rows = static_cast<index>(a.size()) / depth;
  const auto cols = static_cast<index>(b.size()) / depth;
  for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
    const Bf16Table* table = kernels.table;
    const auto want = product(*kernels.emulation, rows, cols, depth, a, b, {}, From::kBf16);
    const auto got = product(*table, rows, cols, depth, a, b, {}, From::kBf16);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i]) && std::isnan(got[i])) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
          << kernels.name << ", element " << i << ": " << got[i] << " and " << want[i];
    }
  }
}

TEST(Bf16ProductTest, the_instruction_computes_what_its_emulation_does) {
  Random random;
  for (const index depth : {2, 4, 6, 64, 1200}) {
    SCOPED_TRACE(depth);
    expect_the_bits_of_the_emulation(bits_of(random.normals(32 * depth)),
                                     bits_of(random.normals(48 * depth)), depth);
    expect_the_bits_of_the_emulation(small_bits(32 * depth, random), small_bits(48 * depth, random),
                                     depth);
    if (depth <= 6) {
      expect_the_bits_of_the_emulation(any_bits(256 * depth, random), any_bits(48 * depth, random),
                                       depth);
    }
  }
}

TEST(Bf16ProductTest, rounds_floats_as_the_emulation_does) {
  // Multiplying A by 1 gives A rounded to bf16.
  Random random;
  const std::vector<std::uint16_t> one{BFloat16(1.0F).bits(), 0};
  const std::vector<Bf16Pair> pairs = packed(1, 2, one);
  for (const Bf16Kernels& kernels : attn_test::bf16_kernels()) {
    const Bf16Table* table = kernels.table;
    std::vector<float> scratch(static_cast<std::size_t>(table->product_scratch(2)));
    for (int i = 0; i < 20000; ++i) {
      const auto bits = static_cast<std::uint32_t>(random.integer(0, 0xFFFFFFFF));
      // Every second number is halfway between two bf16 numbers.
      const float number = std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0xFFFF0000U) | 0x8000U);
      const float a[2] = {number, 0.0F};
      float c = 0;
      Bf16ProductArgs args;
      args.rows = args.cols = 1;
      args.depth = 2;
      args.a = {a, 2};
      args.packed_b = pairs.data();
      args.c = {&c, 1};
      table->product(args, scratch.data());
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(c));
      } else if (std::abs(number) < std::numeric_limits<float>::min()) {
        // aarch64 rounds subnormal numbers like all other numbers, possibly up to the smallest
        // normal number.
        const float rounded = BFloat16(number);
        const bool is_normal = std::abs(rounded) == std::numeric_limits<float>::min();
        EXPECT_TRUE(c == 0.0F || (is_normal && c == rounded)) << number;
      } else {
        EXPECT_EQ(c, static_cast<float>(BFloat16(number))) << number;
      }
    }
  }
}

}  // namespace
