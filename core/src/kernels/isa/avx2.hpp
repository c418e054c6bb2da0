#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa : IsaVectors<xsimd::fma3<xsimd::avx2>> {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx2;
  static constexpr int kRows = 6;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 6;
  static constexpr int kScoreVectors = 2;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  static constexpr int kValueRows = 6;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 2;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return xsimd::fms(a, b, c); }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept { return W(_mm256_mul_epu32(a, b)); }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1));
  }
  static ATTN_INLINE void load_columns(const float* const (&rows)[8], index col,
                                       F (&columns)[4]) noexcept {
    __m256 x[4];  // x[i]: four columns of rows i and i + 4
    unroll<4>([&](auto i) ATTN_INLINED {
      x[i] = _mm256_castps128_ps256(_mm_loadu_ps(rows[i] + col));
      x[i] = _mm256_insertf128_ps(x[i], _mm_loadu_ps(rows[i + 4] + col), 1);
    });
    const __m256 low01 = _mm256_unpacklo_ps(x[0], x[1]);
    const __m256 high01 = _mm256_unpackhi_ps(x[0], x[1]);
    const __m256 low23 = _mm256_unpacklo_ps(x[2], x[3]);
    const __m256 high23 = _mm256_unpackhi_ps(x[2], x[3]);
    columns[0] = F(_mm256_shuffle_ps(low01, low23, 0x44));
    columns[1] = F(_mm256_shuffle_ps(low01, low23, 0xEE));
    columns[2] = F(_mm256_shuffle_ps(high01, high23, 0x44));
    columns[3] = F(_mm256_shuffle_ps(high01, high23, 0xEE));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
  static ATTN_INLINE F sum_lanes(const F (&x)[8]) noexcept {
    __m256 sums[4];
    unroll<4>([&](auto i) ATTN_INLINED {
      sums[i] = _mm256_add_ps(_mm256_permute2f128_ps(x[i], x[i + 4], 0x20),
                              _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
    });
    return F(_mm256_hadd_ps(_mm256_hadd_ps(sums[0], sums[1]), _mm256_hadd_ps(sums[2], sums[3])));
  }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    return U(_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from))));
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    return I(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
  }
  static ATTN_INLINE F load_float16(const void* from) noexcept {
    return F(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from))));
  }
  static ATTN_INLINE void store_float16(F x, void* to) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(to), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
};

}  // namespace
}  // namespace attn::kernels
