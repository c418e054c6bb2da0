#pragma once

// Converts between stored numbers and floats. Each `Isa` defines how words and bytes are loaded. If
// it has instructions for float16, it also defines how these numbers are converted.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attn/element_type.hpp"
#include "kernels/elements_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// Widens the float16 numbers in the low halves of lanes.
template <class Isa>
ATTN_INLINE Floats<Isa> widen_float16(
    xsimd::batch<std::uint32_t, typename Isa::Arch> bits) noexcept {
  using F = Floats<Isa>;
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U magnitude = (bits & U(0x7FFFU)) << 13;
  const U sign = (bits & U(0x8000U)) << 16;
  // The exponent bias of float32 is 112 larger than the exponent bias of float16. With the new
  // exponent, subnormal numbers have an implicit leading one that they should not have; an exact
  // subtraction removes it.
  const U normal = magnitude + U(112U << 23);
  const U subnormal = xsimd::bitwise_cast<std::uint32_t>(
      xsimd::bitwise_cast<float>(magnitude + U(113U << 23)) - F(0x1p-14F));
  const auto is_small = magnitude < U(1U << 23);
  const auto is_special = magnitude >= U(31U << 23);
  const U finite = xsimd::select(is_small, subnormal, normal);
  return xsimd::bitwise_cast<float>(sign |
                                    xsimd::select(is_special, magnitude + U(224U << 23), finite));
}

/// Rounds to the nearest float16 numbers, ties to even. The results are in the low halves of lanes.
template <class Isa>
ATTN_INLINE xsimd::batch<std::uint32_t, typename Isa::Arch> to_float16(Floats<Isa> x) noexcept {
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U bits = xsimd::bitwise_cast<std::uint32_t>(x);
  const U magnitude = bits & U(0x7FFF'FFFFU);
  const U sign = (bits >> 16) & U(0x8000U);
  const U rounded = (magnitude + U(0xFFFU) + ((magnitude >> 13) & U(1U)) - U(112U << 23)) >> 13;
  // Below 2^-14, float16 numbers are multiples of 2^-24, and so are floats from 0.5 to 1. Adding
  // 0.5 therefore rounds the magnitude to a multiple of 2^-24.
  const U small = xsimd::bitwise_cast<std::uint32_t>(xsimd::bitwise_cast<float>(magnitude) +
                                                     Floats<Isa>(0.5F)) -
                  U(0x3F00'0000U);
  U result = xsimd::select(magnitude < U(113U << 23), small, rounded);
  result = xsimd::select(magnitude >= U(143U << 23), U(0x7C00U), result);
  result = xsimd::select(magnitude > U(0x7F80'0000U), U(0x7E00U) | ((magnitude >> 13) & U(0x3FFU)),
                         result);
  return sign | result;
}

/// Rounds to the nearest bfloat16 numbers, ties to even. The results are in the low halves of
/// lanes.
template <class Isa>
ATTN_INLINE xsimd::batch<std::uint32_t, typename Isa::Arch> to_bfloat16(Floats<Isa> x) noexcept {
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U bits = xsimd::bitwise_cast<std::uint32_t>(x);
  const U rounded = (bits + U(0x7FFFU) + ((bits >> 16) & U(1U))) >> 16;
  return xsimd::select((bits & U(0x7FFF'FFFFU)) > U(0x7F80'0000U), (bits >> 16) | U(0x40U),
                       rounded);
}

/// Loads contiguous stored numbers as a vector of floats. Scales of int8 numbers are not applied.
template <class Isa>
ATTN_INLINE Floats<Isa> load(const float* from) noexcept {
  return Floats<Isa>::load_unaligned(from);
}
template <class Isa>
ATTN_INLINE Floats<Isa> load(const Float16* from) noexcept {
  if constexpr (requires { Isa::load_float16(from); }) {
    return Isa::load_float16(from);
  } else {
    return widen_float16<Isa>(Isa::load_words(from));
  }
}
template <class Isa>
ATTN_INLINE Floats<Isa> load(const BFloat16* from) noexcept {
  return xsimd::bitwise_cast<float>(Isa::load_words(from) << 16);
}
template <class Isa>
ATTN_INLINE Floats<Isa> load(const std::int8_t* from) noexcept {
  return xsimd::to_float(Isa::load_bytes(from));
}

/// Rounds a vector of floats to the stored type, and stores the numbers contiguously.
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, float* to) noexcept {
  x.store_unaligned(to);
}
template <class Isa, class T>
ATTN_INLINE void store_low(const xsimd::batch<std::uint32_t, typename Isa::Arch>& words,
                           T* to) noexcept {
  using Number = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::int8_t>;
  if constexpr (requires { Isa::store_words(words, to); }) {
    return sizeof(T) == 2 ? Isa::store_words(words, to) : Isa::store_bytes(words, to);
  }
  std::uint32_t lanes[kWidth<Isa>];
  words.store_unaligned(lanes);
  Number numbers[kWidth<Isa>];
  for (index i = 0; i < kWidth<Isa>; ++i) numbers[i] = static_cast<Number>(lanes[i]);
  __builtin_memcpy(to, numbers, sizeof numbers);
}
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, Float16* to) noexcept {
  if constexpr (requires { Isa::store_float16(x, to); }) {
    Isa::store_float16(x, to);
  } else {
    store_low<Isa>(to_float16<Isa>(x), to);
  }
}
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, BFloat16* to) noexcept {
  store_low<Isa>(to_bfloat16<Isa>(x), to);
}
/// Rounds to integers, ties to even, and stores them as bytes. The magnitude of every lane must be
/// at most 127.
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, std::int8_t* to) noexcept {
  // The integer is in the low byte of the sum, because the low byte of 1.5·2^23 is 0.
  store_low<Isa>(xsimd::bitwise_cast<std::uint32_t>(x + Floats<Isa>(kRounder)), to);
}

/// Loads `count` numbers into the first lanes and zeros into the others. `count` is less than the
/// number of lanes.
template <class Isa, class T>
ATTN_INLINE Floats<Isa> load_part(const T* from, index stride, index count) noexcept {
  alignas(64) unsigned char numbers[kWidth<Isa> * sizeof(T)] = {};
  for (index i = 0; i < count; ++i) {
    __builtin_memcpy(numbers + i * sizeof(T), from + i * stride, sizeof(T));
  }
  return load<Isa>(reinterpret_cast<const T*>(numbers));
}

/// Calls function(pointer), where the pointer has the type of the numbers.
template <class Function>
ATTN_INLINE void with_type(ElementType type, const void* data, Function&& function) noexcept {
  switch (type) {
    case ElementType::kFloat16:
      return function(static_cast<const Float16*>(data));
    case ElementType::kBFloat16:
      return function(static_cast<const BFloat16*>(data));
    case ElementType::kInt8:
      return function(static_cast<const std::int8_t*>(data));
    default:
      return function(static_cast<const float*>(data));
  }
}

/// to[i · to_col] = from[i · from_col], for numbers that take `bytes` bytes each.
ATTN_INLINE void copy_numbers(index bytes, index count, const void* from, index from_col, void* to,
                              index to_col) noexcept {
  const auto copy = [&](auto number) ATTN_INLINED {
    using T = decltype(number);
    const auto* in = static_cast<const unsigned char*>(from);
    auto* out = static_cast<unsigned char*>(to);
    for (index i = 0; i < count; ++i) {
      __builtin_memcpy(out + i * to_col * index{sizeof(T)}, in + i * from_col * index{sizeof(T)},
                       sizeof(T));
    }
  };
  if (bytes == 1) return copy(std::uint8_t());
  if (bytes == 2) return copy(std::uint16_t());
  copy(std::uint32_t());
}

/// Widens contiguous stored numbers to floats: to = factor · from for int8, to = from for the other
/// types. `count` is a multiple of the vector width.
template <class Isa>
__attribute__((noinline)) void widen_vectors(ElementType type, index count, const void* from,
                                             float factor, float* to) noexcept {
  with_type(type, from, [&](const auto* numbers) ATTN_INLINED {
    for (index c = 0; c < count; c += kWidth<Isa>) {
      Floats<Isa> x = load<Isa>(numbers + c);
      if constexpr (std::is_same_v<decltype(numbers), const std::int8_t*>) x *= Floats<Isa>(factor);
      x.store_unaligned(to + c);
    }
  });
}
/// The inverse of widen_vectors: rounds floats to stored numbers.
template <class Isa>
__attribute__((noinline)) void narrow_vectors(ElementType type, index count, const float* from,
                                              float factor, void* to) noexcept {
  with_type(type, to, [&](const auto* first) ATTN_INLINED {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(first)>>;
    for (index c = 0; c < count; c += kWidth<Isa>) {
      Floats<Isa> x = Floats<Isa>::load_unaligned(from + c);
      if constexpr (std::is_same_v<T, std::int8_t>) x *= Floats<Isa>(factor);
      store<Isa>(x, const_cast<T*>(first) + c);
    }
  });
}

/// Calls convert(count, from, to) for a row: in place for whole vectors, and on a gathered copy for
/// the rest. Reads `count` numbers and writes `padded` numbers.
template <class Isa, class Convert>
ATTN_INLINE void convert_row(index count, index padded, index from_bytes, const void* from,
                             index from_col, index to_bytes, void* to, index to_col,
                             Convert&& convert) noexcept {
  const auto* in = static_cast<const unsigned char*>(from);
  auto* out = static_cast<unsigned char*>(to);
  index c = 0;
  if (from_col == 1 && to_col == 1) {
    c = count / kWidth<Isa> * kWidth<Isa>;
    convert(c, from, to);
  }
  for (; c < padded; c += kGathered) {
    alignas(64) unsigned char gathered[kGathered * sizeof(float)] = {};
    alignas(64) unsigned char converted[kGathered * sizeof(float)];
    const index size = std::min(kGathered, padded - c);
    copy_numbers(from_bytes, std::min(size, count - c), in + c * from_col * from_bytes, from_col,
                 gathered, 1);
    unsigned char* const target = out + c * to_col * to_bytes;
    const bool whole = to_col == 1 && size % kWidth<Isa> == 0;
    convert(round_up(size, kWidth<Isa>), gathered, whole ? target : converted);
    if (!whole) copy_numbers(to_bytes, size, converted, 1, target, to_col);
  }
}

ATTN_INLINE index bytes_of(ElementType type) noexcept {
  return type == ElementType::kFloat32 ? 4 : type == ElementType::kInt8 ? 1 : 2;
}
ATTN_INLINE const void* row_at(const StoredRows& rows, index i) noexcept {
  return static_cast<const unsigned char*>(rows.data) + i * rows.row * bytes_of(rows.type);
}

template <class Isa>
void widen(const WidenArgs& p) noexcept {
  for (index i = 0; i < p.rows; ++i) {
    const float factor = p.from.scales ? p.from.scales[i * p.from.scale_row] : 1.0F;
    convert_row<Isa>(
        p.cols, p.padded_cols, bytes_of(p.from.type), row_at(p.from, i), p.from_col, sizeof(float),
        p.to.at(i), p.to.col, [&](index count, const void* from, void* to) {
          widen_vectors<Isa>(p.from.type, count, from, factor, static_cast<float*>(to));
        });
  }
}

/// The largest magnitude in a row, or NaN if the row contains a number that is not finite.
template <class Isa>
ATTN_INLINE float largest_magnitude(index count, const float* x, index col) noexcept {
  using F = Floats<Isa>;
  F largest(0.0F);
  F checks(0.0F);
  const auto take = [&](F value) ATTN_INLINED {
    largest = xsimd::max(xsimd::abs(value), largest);
    checks += value - value;
  };
  index c = 0;
  for (; col == 1 && c + kWidth<Isa> <= count; c += kWidth<Isa>) take(F::load_unaligned(x + c));
  for (; c < count; ++c) take(F(x[c * col]));
  return xsimd::reduce_max(largest) + xsimd::reduce_add(checks);
}

template <class Isa>
void narrow(const NarrowArgs& p) noexcept {
  const index bytes = bytes_of(p.type);
  for (index i = 0; i < p.rows; ++i) {
    const float* const from = p.from.at(i);
    float factor = 1.0F;
    if (p.type == ElementType::kInt8) {
      const float largest = largest_magnitude<Isa>(p.cols, from, p.from.col);
      float scale = std::min(largest / 127.0F, kLargestScale);
      // If `scale` is NaN, the comparison is false, so `factor` is 0.
      factor = scale >= kSmallestScale ? 127.0F / largest : 0.0F;
      if (scale < kSmallestScale) scale = 0.0F;
      p.scales[i * p.scale_row] = scale;
    }
    convert_row<Isa>(p.cols, p.cols, sizeof(float), from, p.from.col, bytes,
                     static_cast<unsigned char*>(p.to) + i * p.to_row * bytes, p.to_col,
                     [&](index count, const void* in, void* to) {
                       narrow_vectors<Isa>(p.type, count, static_cast<const float*>(in), factor,
                                           to);
                     });
  }
}

}  // namespace attn::kernels
