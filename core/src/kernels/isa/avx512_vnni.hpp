#pragma once

#include "kernels/isa/avx512.hpp"

namespace attn::kernels {
namespace {

/// AVX-512 with products of bytes, which byte_rows.hpp uses for int8 caches.
struct VnniIsa : Isa {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512Vnni;
  static constexpr bool kSignedBytes = false;

  static ATTN_INLINE I dot_bytes(I a, I b, I c) noexcept {
#if defined(__clang__)
    return I(_mm512_dpbusd_epi32(c, a, b));
#else
    // With the intrinsic function, GCC 12 would copy every sum before and after the instruction.
    __m512i sum = c;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a.data), "vm"(b.data));
    return I(sum);
#endif
  }
  static ATTN_INLINE I load_row(const void* from) noexcept { return I(_mm512_loadu_si512(from)); }
  static ATTN_INLINE I load_row(const void* from, index count) noexcept {
    const std::uint64_t mask = count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    return I(_mm512_maskz_loadu_epi8(mask, from));
  }
  static ATTN_INLINE void store_low_bytes(I words, void* to) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8(words));
  }
  template <int Column>
  static ATTN_INLINE I spread_column(I x) noexcept {
    return I(_mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0x55 * Column)));
  }
  static ATTN_INLINE void transpose_words(I (&x)[4]) noexcept {
    const __m512i low01 = _mm512_unpacklo_epi32(x[0], x[1]);
    const __m512i high01 = _mm512_unpackhi_epi32(x[0], x[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(x[2], x[3]);
    const __m512i high23 = _mm512_unpackhi_epi32(x[2], x[3]);
    x[0] = I(_mm512_unpacklo_epi64(low01, low23));
    x[1] = I(_mm512_unpackhi_epi64(low01, low23));
    x[2] = I(_mm512_unpacklo_epi64(high01, high23));
    x[3] = I(_mm512_unpackhi_epi64(high01, high23));
  }
  static ATTN_INLINE void interleave_bytes(I (&x)[4]) noexcept {
    const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
    const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
    const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
    x[0] = I(_mm512_unpacklo_epi16(low01, low23));
    x[1] = I(_mm512_unpackhi_epi16(low01, low23));
    x[2] = I(_mm512_unpacklo_epi16(high01, high23));
    x[3] = I(_mm512_unpackhi_epi16(high01, high23));
  }
  static ATTN_INLINE F sum_parts(const F (&x)[4]) noexcept {
    const auto halves = [](__m512 a, __m512 b) ATTN_INLINED {
      return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
    };
    return F(halves(halves(x[0], x[1]), halves(x[2], x[3])));
  }
  static ATTN_INLINE void order_parts(F (&x)[4]) noexcept {
    const __m512 low01 = _mm512_shuffle_f32x4(x[0], x[1], 0x44);
    const __m512 high01 = _mm512_shuffle_f32x4(x[0], x[1], 0xEE);
    const __m512 low23 = _mm512_shuffle_f32x4(x[2], x[3], 0x44);
    const __m512 high23 = _mm512_shuffle_f32x4(x[2], x[3], 0xEE);
    x[0] = F(_mm512_shuffle_f32x4(low01, low23, 0x88));
    x[1] = F(_mm512_shuffle_f32x4(low01, low23, 0xDD));
    x[2] = F(_mm512_shuffle_f32x4(high01, high23, 0x88));
    x[3] = F(_mm512_shuffle_f32x4(high01, high23, 0xDD));
  }
};

}  // namespace
}  // namespace attn::kernels
