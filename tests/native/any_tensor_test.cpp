#include "attn/any_tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "attn/owned_tensor.hpp"

namespace {

using attn::AnyTensor;
using attn::BFloat16;
using attn::ConstAnyTensor;
using attn::ElementType;
using attn::Float16;
using attn::TensorView;
using ::testing::ElementsAre;

/// The number that 16 bits represent according to the definition of the format.
double meaning(int bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class T>
void expect_every_pattern_widens_exactly(int mantissa_bits) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const T number = T::from_bits(static_cast<std::uint16_t>(bits));
    const double want = meaning(bits, mantissa_bits);
    const float wide = number;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(wide)))) << bits;
      continue;
    }
    ASSERT_EQ(wide, want) << bits;
    ASSERT_EQ(std::signbit(wide), std::signbit(want)) << bits;
    ASSERT_EQ(T(wide).bits(), bits);
  }
}

TEST(ElementTypeTest, every_float16_widens_exactly_and_comes_back) {
  expect_every_pattern_widens_exactly<Float16>(10);
}

TEST(ElementTypeTest, every_bfloat16_widens_exactly_and_comes_back) {
  expect_every_pattern_widens_exactly<BFloat16>(7);
}

TEST(ElementTypeTest, conversions_are_constant_expressions) {
  static_assert(Float16(1.0F).bits() == 0x3C00 && Float16(65519.0F).bits() == 0x7BFF);
  static_assert(Float16(65520.0F).bits() == 0x7C00 && Float16(0x1p-25F).bits() == 0);
  static_assert(static_cast<float>(Float16::from_bits(1)) == 0x1p-24F);
  static_assert(BFloat16(1.00390625F).bits() == 0x3F80 && BFloat16(-2.0F) == -2.0F);
  static_assert(!std::is_convertible_v<float, Float16> && !std::is_convertible_v<float, BFloat16>);
  EXPECT_EQ(Float16(), 0.0F);
  EXPECT_EQ(BFloat16(), 0.0F);
}

TEST(ElementTypeTest, types_have_names) {
  EXPECT_EQ(attn::to_string(ElementType::kFloat32), std::string("float32"));
  EXPECT_EQ(attn::to_string(ElementType::kFloat16), std::string("float16"));
  EXPECT_EQ(attn::to_string(ElementType::kBFloat16), std::string("bfloat16"));
  EXPECT_EQ(attn::to_string(ElementType::kInt8), std::string("int8"));
}

TEST(AnyTensorTest, is_made_of_views_of_every_type) {
  std::vector<float> floats(6);
  std::vector<Float16> halves(6);
  const std::vector<BFloat16> brains(6);
  attn::OwnedTensor owned({2, 3});
  const auto type = [](const ConstAnyTensor& x) { return x.type(); };
  EXPECT_EQ(type(TensorView<float>(floats.data(), {2, 3})), ElementType::kFloat32);
  EXPECT_EQ(type(TensorView<const Float16>(halves.data(), {6})), ElementType::kFloat16);
  EXPECT_EQ(type({brains.data(), {3, 2}}), ElementType::kBFloat16);
  EXPECT_EQ(type(owned), ElementType::kFloat32);
  EXPECT_EQ(type(AnyTensor(owned)), ElementType::kFloat32);
  EXPECT_TRUE(ConstAnyTensor().is_none());
  EXPECT_FALSE(ConstAnyTensor(owned).is_none());
  static_assert(!std::is_constructible_v<AnyTensor, TensorView<const Float16>>);
  static_assert(!std::is_constructible_v<AnyTensor, const attn::OwnedTensor&>);
  static_assert(!std::is_constructible_v<AnyTensor, ConstAnyTensor>);
  static_assert(!std::is_constructible_v<AnyTensor, TensorView<std::uint16_t>>);
}

TEST(AnyTensorTest, parts_match_the_parts_of_its_elements) {
  std::vector<Float16> halves;
  for (int i = 0; i < 24; ++i) halves.emplace_back(static_cast<float>(i));
  const AnyTensor x = TensorView<Float16>(halves.data(), {2, 3, 4});
  EXPECT_EQ(x.element_bytes(), 2);
  const AnyTensor part = x.slice(1, 1, 3).select(0, 1);
  EXPECT_THAT(part.shape(), ElementsAre(2, 4));
  EXPECT_EQ(part.as<Float16>()(1, 2), 22.0F);
  EXPECT_EQ(part.visit([](const auto& view) -> float { return view(0, 3); }), 19.0F);
  const AnyTensor heads = x.split_heads(2);
  EXPECT_EQ(heads.as<Float16>()(1, 1, 2, 0), 22.0F);
  EXPECT_THAT(heads.unsqueeze(0).shape(), ElementsAre(1, 2, 2, 3, 2));
  x.as<Float16>()(0, 0, 0) = Float16(7.0F);
  EXPECT_EQ(halves[0], 7.0F);
}

}  // namespace
