#pragma once

// Numbers as they are stored, and as floats. What differs from one instruction set to the next is
// in its `Isa`: how words and bytes are loaded, and float16 where there are instructions for it.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attn/element_type.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// The float16 numbers in the low halves of lanes.
template <class Isa>
ATTN_INLINE Floats<Isa> widen_float16(
    xsimd::batch<std::uint32_t, typename Isa::Arch> bits) noexcept {
  using F = Floats<Isa>;
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U magnitude = (bits & U(0x7FFFU)) << 13;
  const U sign = (bits & U(0x8000U)) << 16;
  // Exponents begin 112 further up. Subnormal numbers then lack the leading one that normal ones
  // leave out: it is taken off by a subtraction, which is exact.
  const U normal = magnitude + U(112U << 23);
  const U subnormal = xsimd::bitwise_cast<std::uint32_t>(
      xsimd::bitwise_cast<float>(magnitude + U(113U << 23)) - F(0x1p-14F));
  const auto is_small = magnitude < U(1U << 23);
  const auto is_special = magnitude >= U(31U << 23);
  const U finite = xsimd::select(is_small, subnormal, normal);
  return xsimd::bitwise_cast<float>(sign |
                                    xsimd::select(is_special, magnitude + U(224U << 23), finite));
}

/// The nearest float16 numbers, ties to even, in the low halves of lanes.
template <class Isa>
ATTN_INLINE xsimd::batch<std::uint32_t, typename Isa::Arch> to_float16(Floats<Isa> x) noexcept {
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U bits = xsimd::bitwise_cast<std::uint32_t>(x);
  const U magnitude = bits & U(0x7FFF'FFFFU);
  const U sign = (bits >> 16) & U(0x8000U);
  const U rounded = (magnitude + U(0xFFFU) + ((magnitude >> 13) & U(1U)) - U(112U << 23)) >> 13;
  // Multiples of 2^-24, to which adding 0.5 rounds.
  const U small = xsimd::bitwise_cast<std::uint32_t>(xsimd::bitwise_cast<float>(magnitude) +
                                                     Floats<Isa>(0.5F)) -
                  U(0x3F00'0000U);
  U result = xsimd::select(magnitude < U(113U << 23), small, rounded);
  result = xsimd::select(magnitude >= U(143U << 23), U(0x7C00U), result);
  result = xsimd::select(magnitude > U(0x7F80'0000U), U(0x7E00U) | ((magnitude >> 13) & U(0x3FFU)),
                         result);
  return sign | result;
}

/// The nearest bfloat16 numbers, ties to even, in the low halves of lanes.
template <class Isa>
ATTN_INLINE xsimd::batch<std::uint32_t, typename Isa::Arch> to_bfloat16(Floats<Isa> x) noexcept {
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const U bits = xsimd::bitwise_cast<std::uint32_t>(x);
  const U rounded = (bits + U(0x7FFFU) + ((bits >> 16) & U(1U))) >> 16;
  return xsimd::select((bits & U(0x7FFF'FFFFU)) > U(0x7F80'0000U), (bits >> 16) | U(0x40U),
                       rounded);
}

/// A vector of floats from stored numbers side by side; of int8 without their scale.
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

/// Rounds a vector of floats to numbers as they are stored, side by side.
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, float* to) noexcept {
  x.store_unaligned(to);
}
template <class Isa, class T>
ATTN_INLINE void store_low(const xsimd::batch<std::uint32_t, typename Isa::Arch>& words,
                           T* to) noexcept {
  using Number = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::int8_t>;
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
/// Of magnitudes of at most 127.
template <class Isa>
ATTN_INLINE void store(Floats<Isa> x, std::int8_t* to) noexcept {
  // The integer is in the low bits, below those of 1.5·2^23, whose low byte is 0.
  store_low<Isa>(xsimd::bitwise_cast<std::uint32_t>(x + Floats<Isa>(kRounder)), to);
}

/// `count` numbers, fewer than a vector has, and zeros behind them.
template <class Isa, class T>
ATTN_INLINE Floats<Isa> load_part(const T* from, index stride, index count) noexcept {
  alignas(64) unsigned char numbers[kWidth<Isa> * sizeof(T)] = {};
  for (index i = 0; i < count; ++i) {
    __builtin_memcpy(numbers + i * sizeof(T), from + i * stride, sizeof(T));
  }
  return load<Isa>(reinterpret_cast<const T*>(numbers));
}
template <class Isa, class T>
ATTN_INLINE void store_part(Floats<Isa> x, T* to, index stride, index count) noexcept {
  alignas(64) unsigned char numbers[kWidth<Isa> * sizeof(T)];
  store<Isa>(x, reinterpret_cast<T*>(numbers));
  for (index i = 0; i < count; ++i) {
    __builtin_memcpy(to + i * stride, numbers + i * sizeof(T), sizeof(T));
  }
}

/// function(pointer) with the type that the numbers have.
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

template <class Isa, class From, class To>
ATTN_INLINE void convert_row(index count, index padded_count, const From* from, index from_col,
                             float factor, To* to, index to_col) noexcept {
  constexpr index kW = kWidth<Isa>;
  for (index c = 0; c < padded_count; c += kW) {
    const bool whole = c + kW <= count;
    Floats<Isa> x = whole && from_col == 1 ? load<Isa>(from + c)
                                           : load_part<Isa>(from + c * from_col, from_col,
                                                            std::clamp<index>(count - c, 0, kW));
    if constexpr (std::is_same_v<From, std::int8_t> || std::is_same_v<To, std::int8_t>) {
      x *= Floats<Isa>(factor);
    }
    if (c + kW <= padded_count && to_col == 1) {
      store<Isa>(x, to + c);
    } else {
      store_part<Isa>(x, to + c * to_col, to_col, std::min(kW, padded_count - c));
    }
  }
}

template <class Isa>
void widen(const WidenArgs& p) noexcept {
  with_type(p.from.type, p.from.data, [&](const auto* from) __attribute__((always_inline)) {
    for (index i = 0; i < p.rows; ++i) {
      convert_row<Isa>(p.cols, p.padded_cols, from + i * p.from.row, p.from_col,
                       p.from.scales ? p.from.scales[i * p.from.scale_row] : 1.0F,
                       p.to + i * p.to_row, p.to_col);
    }
  });
}

/// The largest magnitude in a row; NaN when something in it is not finite.
template <class Isa>
ATTN_INLINE float largest_magnitude(index count, const float* x, index col) noexcept {
  using F = Floats<Isa>;
  F largest(0.0F);
  F checks(0.0F);
  for (index c = 0; c < count; c += kWidth<Isa>) {
    const F value = col == 1 && c + kWidth<Isa> <= count
                        ? F::load_unaligned(x + c)
                        : load_part<Isa>(x + c * col, col, std::min(kWidth<Isa>, count - c));
    largest = xsimd::max(xsimd::abs(value), largest);
    checks += value - value;
  }
  return xsimd::reduce_max(largest) + xsimd::reduce_add(checks);
}

template <class Isa>
void narrow(const NarrowArgs& p) noexcept {
  with_type(p.type, p.to, [&](const auto* first) __attribute__((always_inline)) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(first)>>;
    T* to = const_cast<T*>(first);
    for (index i = 0; i < p.rows; ++i) {
      const float* from = p.from + i * p.from_row;
      float factor = 1.0F;
      if constexpr (std::is_same_v<T, std::int8_t>) {
        const float largest = largest_magnitude<Isa>(p.cols, from, p.from_col);
        float scale = largest / 127.0F;
        // Zero for a NaN, too.
        factor = scale >= kSmallestScale ? 127.0F / largest : 0.0F;
        if (scale < kSmallestScale) scale = 0.0F;
        p.scales[i * p.scale_row] = scale;
        if (factor == 0.0F) {
          for (index c = 0; c < p.cols; ++c) to[i * p.to_row + c * p.to_col] = 0;
          continue;
        }
      }
      convert_row<Isa>(p.cols, p.cols, from, p.from_col, factor, to + i * p.to_row, p.to_col);
    }
  });
}

}  // namespace attn::kernels
