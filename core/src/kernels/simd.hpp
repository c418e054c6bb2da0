#pragma once

// Defines what every kernel uses: the description of an instruction set, and the few vector
// operations that xsimd lacks. Only the translation units in isa/ include this file. Each of them
// defines one `Isa` struct in an anonymous namespace, and every kernel is a template over it, so
// that code compiled for one instruction set can never be linked into another.

#include <bit>
#include <cstdint>
#include <utility>
// xsimd 13 does not count its emulated vectors as a supported architecture. Without this #undef, it
// defines no vectors at all for processors on which it supports no other architecture.
#include <xsimd/config/xsimd_config.hpp>
#if XSIMD_WITH_EMULATED
#undef XSIMD_NO_SUPPORTED_ARCHITECTURE
#endif
#include <xsimd/xsimd.hpp>

#include "attn/instruction_set.hpp"
#include "kernels/sizes.hpp"

#define ATTN_INLINE inline __attribute__((always_inline))
/// Write this attribute after the parameters of a lambda that must be inlined, so that the vectors
/// it captures stay in registers.
#define ATTN_INLINED __attribute__((always_inline))

namespace attn::kernels {

/// The base of an `Isa`: xsimd's architecture and its vectors.
///
/// Each `Isa` also defines the tile shapes of its kernels:
/// - kInstructionSet: the name that the rest of the core uses.
/// - kRows, kVectors: rows and vectors of the micro-kernel's tile in a product, as many as fit in
///   the registers.
/// - kScoreRows, kScoreVectors: the tile for q·k has kScoreRows keys and kScoreVectors vectors of
///   queries. A block of queries consists of whole tiles.
/// - kValueRows: queries in the tile for weights·v, with kVectors vectors of values.
/// - kSoftmaxVectors: vectors of queries whose exponentials are computed together, for one key at a
///   time. With two keys, the constants and intermediate values no longer fit in the registers.
/// - kTileKeys: keys in a tile of scores. The order of sums depends on it, so it is not adapted to
///   the machine's first-level cache. It is 128 for instruction sets whose machines usually have
///   48 KB of first-level cache and benefit from larger tiles; otherwise it is 64, so that the
///   scores and values of a tile fit in 32 KB.
/// - kSteps: the factor by which a product's loop over the depth is unrolled. A factor of 2 saves
///   instructions. With 4, GCC spills a sum to memory. WebAssembly engines spill a sum even with 2,
///   because they load the operands of both steps before adding.
///
/// Each `Isa` also defines operations that xsimd lacks or that differ between its architectures:
/// - madd(a, b, c): a·b + c, for floats and doubles.
/// - msub(a, b, c): a·b − c, for doubles.
/// - multiply_wide(a, b): the 64-bit products of the low halves of 64-bit lanes.
/// - narrow(a, b): rounds two vectors of doubles to one of floats.
/// - at_least(x, low): max(x, low), but keeps a NaN in x.
/// - load_words(from): loads one 16-bit number per lane, with zeros above it.
/// - load_bytes(from): loads one byte per lane, sign-extended.
///
/// The following operations are optional. Each replaces general code with faster instructions.
/// - load_columns(rows, col, columns): loads columns col … col + 3 of several rows, one for each
///   lane of a vector. Required if vectors have more than four lanes.
/// - divide(a, b): a / b, correctly rounded.
/// - sum_lanes(x): takes as many vectors as a vector has lanes, and returns the sum over the lanes
///   of each. Bit-identical to xsimd's reduce_add.
/// - load_float16(from), store_float16(x, to): converts float16 numbers to a vector of floats and
///   back.
/// - store_words(words, to), store_bytes(words, to): stores the low halves of lanes, or their low
///   bytes.
/// - load_pair(from, seen): loads two vectors at once, see isa/wasm_pair_loads.hpp.
template <class A>
struct IsaVectors {
  using Arch = A;
  using F = xsimd::batch<float, Arch>;
  using D = xsimd::batch<double, Arch>;
  using W = xsimd::batch<std::uint64_t, Arch>;
  using U = xsimd::batch<std::uint32_t, Arch>;
  using I = xsimd::batch<std::int32_t, Arch>;
};

template <class Isa>
using Floats = xsimd::batch<float, typename Isa::Arch>;

template <class Isa>
inline constexpr index kWidth = static_cast<index>(Floats<Isa>::size);

/// Calls body(0) … body(N-1) with compile-time constants. This loop is always unrolled, so that
/// arrays of vectors stay in registers.
template <int N, class F>
ATTN_INLINE void unroll(F&& body) noexcept {
  [&]<int... I>(std::integer_sequence<int, I...>) ATTN_INLINED {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// True if an instruction set multiplies pairs. In addition to what it inherits from `FloatIsa`,
/// such an `Isa` defines these functions, with pairs in the lanes of vectors of floats:
/// - dot(a, b, c): c + a.first·b.first + a.second·b.second, with the instruction's rounding.
/// - narrow(a, b): the lanes of a followed by the lanes of b, rounded to bf16, as a row of pairs.
/// - pair(a, b): (a, b) rounded to bf16, lane by lane.
template <class Isa>
inline constexpr bool kPairs = requires { typename Isa::FloatIsa; };

/// True if larger products use tiles. Such an `Isa` also defines a struct `Tiles` for the tile
/// hardware, with register numbers from 0 to 7 as template arguments:
/// - configure(rows), release(): sets up tiles of 16 rows, or of `rows` rows in registers 0 to 5;
///   release() frees them.
/// - zero<T>(), load<T>(from, row_bytes), store<T>(to, row_bytes).
/// - dot<C, A, B>(): C += A · B, as described in bf16/tiles.hpp.
template <class Isa>
inline constexpr bool kTiles = requires { typename Isa::Tiles; };

/// True if products use quads: two pairs of a row or a column, consecutive along the depth,
/// followed by two pairs of the next row or column. Such an `Isa` also defines:
/// - dot_quads(a, b, c): c + (rows of a) · (columns of b); c is a 2 × 2 square of sums, row by row.
///   Rounds in the same way as the instruction.
template <class Isa>
inline constexpr bool kQuads = requires(Floats<Isa> x) { Isa::dot_quads(x, x, x); };

/// Number of elements along the depth that one instruction processes. A sum takes its elements in
/// groups of this size, counted from the first element of the sum.
template <class Isa>
inline constexpr index kDepthStep = kTiles<Isa>   ? kPanelWidth
                                    : kQuads<Isa> ? 2
                                                  : 1;

/// Number of columns that are computed together.
template <class Isa>
inline constexpr index kLanes = kTiles<Isa> ? kPanelWidth : kWidth<Isa>;

template <class Isa>
struct IsaTraits {
  using Element = float;
  using FloatIsa = Isa;
};
template <class Isa>
  requires kPairs<Isa>
struct IsaTraits<Isa> {
  using Element = Bf16Pair;
  using FloatIsa = typename Isa::FloatIsa;
};

/// The type of a product's elements: floats or pairs.
template <class Isa>
using TileElement = typename IsaTraits<Isa>::Element;
/// The same instruction set with products of floats.
template <class Isa>
using FloatIsa = typename IsaTraits<Isa>::FloatIsa;

/// Reinterprets the bits as numbers of another type. xsimd's bitwise_cast looks up its NEON
/// function in a table. GCC 12 does not inline calls to that function, not even in innermost loops.
template <class To, class From, class Arch>
ATTN_INLINE xsimd::batch<To, Arch> bits_as(xsimd::batch<From, Arch> x) noexcept {
  using Register = typename xsimd::batch<To, Arch>::register_type;
  return xsimd::batch<To, Arch>(std::bit_cast<Register>(x.data));
}

/// Loads, stores and repeats the elements of products. A pair occupies one lane of a vector of
/// floats.
template <class Isa>
ATTN_INLINE Floats<Isa> load_elements(const float* from) noexcept {
  return Floats<Isa>::load_unaligned(from);
}
template <class Isa>
ATTN_INLINE Floats<Isa> load_elements(const Bf16Pair* from) noexcept {
  using Words = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  return bits_as<float>(
      Words::load_unaligned(static_cast<const std::uint32_t*>(static_cast<const void*>(from))));
}
template <class Isa>
ATTN_INLINE void store_elements(Floats<Isa> elements, Bf16Pair* to) noexcept {
  bits_as<std::uint32_t>(elements).store_unaligned(
      static_cast<std::uint32_t*>(static_cast<void*>(to)));
}
template <class Isa>
ATTN_INLINE Floats<Isa> broadcast_element(float element) noexcept {
  return Floats<Isa>(element);
}
template <class Isa>
ATTN_INLINE Floats<Isa> broadcast_element(const Bf16Pair& element) noexcept {
  using Words = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  return bits_as<float>(Words(std::bit_cast<std::uint32_t>(element)));
}

/// Returns sum + a·b or, for pairs, `sum` plus the dot products of the pairs.
template <class Isa>
  requires(!kPairs<Isa>)
ATTN_INLINE Floats<Isa> multiply_add(Floats<Isa> a, Floats<Isa> b, Floats<Isa> sum) noexcept {
  return Isa::madd(a, b, sum);
}
template <class Isa>
  requires kPairs<Isa>
ATTN_INLINE Floats<Isa> multiply_add(Floats<Isa> a, Floats<Isa> b, Floats<Isa> sum) noexcept {
  return Isa::dot(a, b, sum);
}

/// Number of elements to gather at a time, if elements are not contiguous or do not fill their last
/// vector.
inline constexpr index kGathered = 64;

/// Copies `count` floats, in whole vectors if they are contiguous.
template <class Isa>
ATTN_INLINE void copy_row(index count, const float* from, index from_col, float* to,
                          index to_col) noexcept {
  index j = 0;
  if (from_col == 1 && to_col == 1) {
    for (; j + kWidth<Isa> <= count; j += kWidth<Isa>) {
      Floats<Isa>::load_unaligned(from + j).store_unaligned(to + j);
    }
  }
  for (; j < count; ++j) to[j * to_col] = from[j * from_col];
}

/// a / b, correctly rounded. On NEON, xsimd's division is not correctly rounded: it multiplies by
/// an estimated reciprocal.
template <class Isa>
ATTN_INLINE Floats<Isa> divide(Floats<Isa> a, Floats<Isa> b) noexcept {
  if constexpr (requires { Isa::divide(a, b); }) {
    return Isa::divide(a, b);
  } else {
    return a / b;
  }
}

/// Adding this constant rounds a float of magnitude below 2^22 to an integer, which is then in the
/// low bits.
inline constexpr float kRounder = 12582912.0F;  // 1.5·2^23
/// kRounder plus the bias of the exponent of float32.
inline constexpr float kExponentRounder = kRounder + 127.0F;

/// Replaces x by 2^(x − m), for x ≤ m + 1 and an integer m of magnitude below 2^22; NaN stays NaN.
/// Takes rounder = kExponentRounder − m and lowest = m − 127. Relative error at most 1.2e-7 (2 ULP)
/// down to 2^-126; smaller results are zero.
///
/// The integer part of x becomes the exponent bits of a float. The rest r is in [-1/2, 1/2]. 2^r is
/// approximated by a polynomial of degree 6 (minimax in relative error, 4e-9).
///
/// Processes N vectors in lockstep. The operations on a single vector form one long chain, so too
/// few of them overlap to keep a processor busy. AVX-512's vreduceps and vscalefps would replace
/// five of the fourteen operations, but attention as a whole is no faster with them.
template <class Isa, int N>
ATTN_INLINE void exp2_shifted(Floats<Isa> (&x)[N], const Floats<Isa> (&rounder)[N],
                              const Floats<Isa> (&lowest)[N]) noexcept {
  using F = Floats<Isa>;
  using I = xsimd::as_integer_t<F>;
  F p[N], power[N];
  const auto each = [&](auto&& step) ATTN_INLINED { unroll<N>(step); };
  each([&](auto i) ATTN_INLINED { x[i] = Isa::at_least(x[i], lowest[i]); });
  each([&](auto i) ATTN_INLINED { power[i] = x[i] + rounder[i]; });
  each([&](auto i) ATTN_INLINED { x[i] -= power[i] - rounder[i]; });
  each([&](auto i) ATTN_INLINED {
    power[i] = xsimd::bitwise_cast<float>(I(xsimd::bitwise_cast<std::int32_t>(power[i])) << 23);
    p[i] = Isa::madd(F(1.5469732e-4F), x[i], F(1.3410001e-3F));
  });
  constexpr float kCoefficients[] = {9.6180308e-3F, 5.5502973e-2F, 2.4022651e-1F, 6.9314723e-1F,
                                     1.0F};
  unroll<5>([&](auto k) ATTN_INLINED {
    each([&](auto i) ATTN_INLINED { p[i] = Isa::madd(p[i], x[i], F(kCoefficients[k])); });
  });
  each([&](auto i) ATTN_INLINED { x[i] = p[i] * power[i]; });
}

/// 2^x for x ≤ 0 and for NaN, with the error of exp2_shifted.
template <class Isa>
ATTN_INLINE Floats<Isa> exp2_nonpositive(Floats<Isa> x) noexcept {
  using F = Floats<Isa>;
  F result[1] = {x};
  exp2_shifted<Isa, 1>(result, {F(kExponentRounder)}, {F(-127.0F)});
  return result[0];
}

}  // namespace attn::kernels
