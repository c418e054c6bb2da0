#pragma once

#include <wasm_simd128.h>

#include "attn/element_type.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

/// Loads eight stored numbers at once as two vectors of floats, which takes fewer instructions than
/// loading four at a time.
struct WasmPairLoads {
  using Floats4 = xsimd::batch<float, xsimd::wasm>;
  struct Pair {
    Floats4 low, high;
  };
  /// For each lane, twice the bits of the largest float16 magnitude loaded so far.
  using Seen = v128_t;

  static ATTN_INLINE Seen nothing_seen() noexcept { return wasm_i16x8_splat(0); }

  /// Loads float16 numbers as floats, multiplied by 2^-112: the bits are moved into place without
  /// looking at the exponents. Infinities and NaN become finite, which in_range() then detects.
  static ATTN_INLINE Pair load_pair(const Float16* from, Seen& seen) noexcept {
    const v128_t bits = wasm_v128_load(from);
    seen = wasm_u16x8_max(seen, wasm_i16x8_add(bits, bits));
    const v128_t upper = wasm_v128_and(wasm_i16x8_shr(bits, 3), wasm_u16x8_splat(0x8FFF));
    const v128_t lower = wasm_i16x8_shl(bits, 13);
    return interleave(lower, upper);
  }
  static ATTN_INLINE Pair load_pair(const BFloat16* from, Seen& /*seen*/) noexcept {
    return interleave(wasm_i16x8_splat(0), wasm_v128_load(from));
  }
  static ATTN_INLINE Pair load_pair(const std::int8_t* from, Seen& /*seen*/) noexcept {
    const v128_t words = wasm_i16x8_load8x8(from);
    return {Floats4(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(words))),
            Floats4(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(words)))};
  }

  static ATTN_INLINE bool in_range(Seen seen) noexcept {
    return !wasm_v128_any_true(wasm_u16x8_ge(seen, wasm_u16x8_splat(0xF800)));
  }

  /// True if few of the numbers are subnormal. load_pair() turns subnormal float16 numbers into
  /// subnormal floats, which are slow on some machines.
  static ATTN_INLINE bool is_mostly_normal(const Float16* numbers, index count) noexcept {
    index subnormal = 0;
    for (index i = 0; i + 8 <= count; i += 8) {
      const v128_t bits = wasm_v128_load(numbers + i);
      // Subtracting 1 turns zero into the largest unsigned number, so zeros do not count as
      // subnormal.
      const v128_t twice = wasm_i16x8_sub(wasm_i16x8_add(bits, bits), wasm_i16x8_splat(1));
      subnormal += __builtin_popcount(
          static_cast<unsigned>(wasm_i16x8_bitmask(wasm_u16x8_lt(twice, wasm_u16x8_splat(0x7FF)))));
    }
    return subnormal * 32 <= count;
  }

  /// store_words stores the low halves of lanes, whose upper halves must be zero. store_bytes
  /// stores the low bytes of lanes.
  using Words = xsimd::batch<std::uint32_t, xsimd::wasm>;
  static ATTN_INLINE void store_words(Words words, void* to) noexcept {
    wasm_v128_store64_lane(to, wasm_u16x8_narrow_i32x4(words, words), 0);
  }
  static ATTN_INLINE void store_bytes(Words words, void* to) noexcept {
    constexpr int k = 0;
    wasm_v128_store32_lane(
        to, wasm_i8x16_shuffle(words, words, 0, 4, 8, 12, k, k, k, k, k, k, k, k, k, k, k, k), 0);
  }

 private:
  static ATTN_INLINE Pair interleave(v128_t lower, v128_t upper) noexcept {
    return {Floats4(wasm_i16x8_shuffle(lower, upper, 0, 8, 1, 9, 2, 10, 3, 11)),
            Floats4(wasm_i16x8_shuffle(lower, upper, 4, 12, 5, 13, 6, 14, 7, 15))};
  }
};

}  // namespace
}  // namespace attn::kernels
