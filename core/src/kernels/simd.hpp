#pragma once

// The vocabulary of the kernels: what an instruction set is, and the few vector operations that
// xsimd leaves open. Only the translation units in isa/ include this; each defines one `Isa` struct
// in an anonymous namespace, and every kernel is a template over it, so that code compiled for one
// instruction set can never be linked into another.

#include <cstdint>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "kernels/kernel_table.hpp"

#define ATTN_INLINE inline __attribute__((always_inline))

namespace attn::kernels {

template <class Isa>
using Floats = xsimd::batch<float, typename Isa::Arch>;

template <class Isa>
inline constexpr index kWidth = static_cast<index>(Floats<Isa>::size);

/// Calls body(0) … body(N-1) with compile-time numbers: a loop that is unrolled for certain, so
/// that arrays of vectors stay in registers.
template <int N, class F>
ATTN_INLINE void unroll(F&& body) noexcept {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// Adding it rounds a float of magnitude below 2^22 to an integer, which is then in the low bits.
inline constexpr float kRounder = 12582912.0F;  // 1.5·2^23
/// The same, with the bias of a float's exponent added.
inline constexpr float kExponentRounder = kRounder + 127.0F;

/// 2^(x − m) for x ≤ m + 1 and an integer m of magnitude below 2^22; NaN stays NaN. Takes
/// rounder = kExponentRounder − m and lowest = m − 127. Relative error at most 1.2e-7 (2 ULP) down
/// to 2^-126; smaller results are zero.
///
/// The integer part of x goes through the exponent bits of a float. The rest, in [-1/2, 1/2], takes
/// a polynomial of degree 6 (minimax in relative error, 4e-9).
template <class Isa>
ATTN_INLINE Floats<Isa> exp2_shifted(Floats<Isa> x, Floats<Isa> rounder,
                                     Floats<Isa> lowest) noexcept {
  using F = Floats<Isa>;
  using I = xsimd::as_integer_t<F>;
  x = Isa::at_least(x, lowest);
  const F shifted = x + rounder;
  const F power = xsimd::bitwise_cast<float>(I(xsimd::bitwise_cast<std::int32_t>(shifted)) << 23);
  const F f = x - (shifted - rounder);
  F p(1.5469732e-4F);
  p = Isa::madd(p, f, F(1.3410001e-3F));
  p = Isa::madd(p, f, F(9.6180308e-3F));
  p = Isa::madd(p, f, F(5.5502973e-2F));
  p = Isa::madd(p, f, F(2.4022651e-1F));
  p = Isa::madd(p, f, F(6.9314723e-1F));
  p = Isa::madd(p, f, F(1.0F));
  return p * power;
}

/// 2^x for x ≤ 0, and for NaN. Error as above.
template <class Isa>
ATTN_INLINE Floats<Isa> exp2_nonpositive(Floats<Isa> x) noexcept {
  return exp2_shifted<Isa>(x, Floats<Isa>(kExponentRounder), Floats<Isa>(-127.0F));
}

}  // namespace attn::kernels
