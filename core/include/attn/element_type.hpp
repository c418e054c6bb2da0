#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "attn/export.hpp"

namespace attn {

/// A half-precision number (IEEE 754 binary16) with 11 significant bits and magnitudes from 2^-24
/// to 65504. It is a storage type: arithmetic is done in float.
class Float16 {
 public:
  /// Like a float, a Float16 is uninitialised unless you give it a value. `Float16()` is 0.
  Float16() = default;
  /// Rounds to the nearest number, ties to even. The relative error is at most 2^-11; for
  /// magnitudes below 2^-14, the absolute error is at most 2^-25. Magnitudes of 65520 or more
  /// become infinite. NaN stays NaN.
  constexpr explicit Float16(float value) noexcept : bits_(round(value)) {}
  static constexpr Float16 from_bits(std::uint16_t bits) noexcept {
    Float16 result{};
    result.bits_ = bits;
    return result;
  }

  constexpr std::uint16_t bits() const noexcept { return bits_; }

  /// The conversion is exact.
  constexpr operator float() const noexcept {
    const std::uint32_t sign = (bits_ & 0x8000U) << 16;
    const std::uint32_t exponent = bits_ >> 10 & 0x1FU;
    const std::uint32_t mantissa = bits_ & 0x3FFU;
    if (exponent == 0) {
      // Zero or a subnormal number: a multiple of 2^-24.
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
  }

 private:
  static constexpr std::uint16_t round(float value) noexcept {
    constexpr std::uint32_t kInfinity = 0x7C00U;
    constexpr std::uint32_t kSmallestNormal = (127 - 14) << 23;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
    std::uint32_t result = 0;
    if (magnitude > 0x7F80'0000U) {
      result = kInfinity | 0x200U | (magnitude >> 13 & 0x3FFU);
    } else if (magnitude < kSmallestNormal) {
      // The result is a multiple of 2^-24. Adding 0.5 rounds the magnitude to such a multiple.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      result = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
    } else {
      const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
      result = (rounded - ((127U - 15U) << 23)) >> 13;
      if (result > kInfinity) result = kInfinity;
    }
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | result);
  }

  std::uint16_t bits_;
};

/// A bfloat16 number: the upper half of a float, with the same range and 8 significant bits. It is
/// a storage type: arithmetic is done in float.
class BFloat16 {
 public:
  /// Like a float, a BFloat16 is uninitialised unless you give it a value. `BFloat16()` is 0.
  BFloat16() = default;
  /// Rounds to the nearest number, ties to even. The relative error is at most 2^-8; for magnitudes
  /// below 2^-126, the absolute error is at most 2^-134. Magnitudes of 2^128 − 2^119 or more become
  /// infinite. NaN stays NaN.
  constexpr explicit BFloat16(float value) noexcept : bits_(round(value)) {}
  static constexpr BFloat16 from_bits(std::uint16_t bits) noexcept {
    BFloat16 result{};
    result.bits_ = bits;
    return result;
  }

  constexpr std::uint16_t bits() const noexcept { return bits_; }

  /// The conversion is exact.
  constexpr operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  static constexpr std::uint16_t round(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (bits & 0x7FFF'FFFFU) > 0x7F80'0000U;
    return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40U
                                             : (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
  }

  std::uint16_t bits_;
};

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);

/// The type in which numbers are stored. Whatever the type, sums, softmax and log-sum-exps are
/// computed in float32. Enumerators never change their meaning, and new ones are added at the end.
enum class ElementType : int {
  kFloat32 = 0,
  kFloat16 = 1,
  kBFloat16 = 2,
  kInt8 = 3,  ///< int8 with a float32 scale per row; for KeyValueCache only
};

/// "float32", "float16", "bfloat16" or "int8".
ATTN_API const char* to_string(ElementType type) noexcept;

namespace detail {
template <class T>
inline constexpr bool kIsElement =
    std::same_as<T, float> || std::same_as<T, Float16> || std::same_as<T, BFloat16>;
}  // namespace detail

/// The element types of tensors: float, Float16 and BFloat16.
template <class T>
concept Element = detail::kIsElement<std::remove_const_t<T>>;

/// The ElementType that corresponds to float, Float16 or BFloat16.
template <Element T>
inline constexpr ElementType kElementType =
    std::same_as<std::remove_const_t<T>, float>     ? ElementType::kFloat32
    : std::same_as<std::remove_const_t<T>, Float16> ? ElementType::kFloat16
                                                    : ElementType::kBFloat16;

}  // namespace attn
