#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa : IsaVectors<xsimd::avx512bw> {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512;
  // 28 registers hold sums. Tiles of 12 × 2 are slower, and with tiles of 9 × 3, GCC 12 spills sums
  // to memory.
  static constexpr int kRows = 14;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 8;
  static constexpr int kScoreVectors = 3;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  // With 12 rows, a block of 48 queries consists of whole tiles. Tiles of 13 and 14 rows are no
  // faster.
  static constexpr int kValueRows = 12;
  static constexpr index kTileKeys = 128;
  static constexpr int kSteps = 2;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return xsimd::fms(a, b, c); }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept { return W(_mm512_mul_epu32(a, b)); }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1));
  }
  static ATTN_INLINE void load_columns(const float* const (&rows)[16], index col,
                                       F (&columns)[4]) noexcept {
    __m512 x[4];  // x[i]: four columns of rows i, i + 4, i + 8, i + 12
    unroll<4>([&](auto i) ATTN_INLINED {
      x[i] = _mm512_castps128_ps512(_mm_loadu_ps(rows[i] + col));
      x[i] = _mm512_insertf32x4(x[i], _mm_loadu_ps(rows[i + 4] + col), 1);
      x[i] = _mm512_insertf32x4(x[i], _mm_loadu_ps(rows[i + 8] + col), 2);
      x[i] = _mm512_insertf32x4(x[i], _mm_loadu_ps(rows[i + 12] + col), 3);
    });
    const __m512 low01 = _mm512_unpacklo_ps(x[0], x[1]);
    const __m512 high01 = _mm512_unpackhi_ps(x[0], x[1]);
    const __m512 low23 = _mm512_unpacklo_ps(x[2], x[3]);
    const __m512 high23 = _mm512_unpackhi_ps(x[2], x[3]);
    columns[0] = F(_mm512_shuffle_ps(low01, low23, 0x44));
    columns[1] = F(_mm512_shuffle_ps(low01, low23, 0xEE));
    columns[2] = F(_mm512_shuffle_ps(high01, high23, 0x44));
    columns[3] = F(_mm512_shuffle_ps(high01, high23, 0xEE));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
  static ATTN_INLINE F sum_lanes(const F (&x)[16]) noexcept {
    // Two rounds add neighbouring quarters of each vector, then two rounds add neighbouring lanes.
    // xsimd's reduce_add uses the same order.
    __m512 sums[4];
    const auto quarters = [](__m512 a, __m512 b) ATTN_INLINED {
      return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
    };
    const auto pairs = [](__m512 a, __m512 b) ATTN_INLINED {
      return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
    };
    unroll<4>([&](auto i) ATTN_INLINED {
      sums[i] = quarters(quarters(x[i], x[i + 4]), quarters(x[i + 8], x[i + 12]));
    });
    return F(pairs(pairs(sums[0], sums[1]), pairs(sums[2], sums[3])));
  }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    return U(_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(from))));
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    return I(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from))));
  }
  static ATTN_INLINE F load_float16(const void* from) noexcept {
    return F(_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from))));
  }
  static ATTN_INLINE void store_float16(F x, void* to) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
};

}  // namespace
}  // namespace attn::kernels
