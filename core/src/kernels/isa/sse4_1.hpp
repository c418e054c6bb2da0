#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa : IsaVectors<xsimd::sse4_1> {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kSse41;
  static constexpr int kRows = 4;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 4;
  static constexpr int kScoreVectors = 2;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  static constexpr int kValueRows = 4;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 2;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return a * b + c; }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return a * b + c; }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return a * b - c; }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept { return W(_mm_mul_epu32(a, b)); }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(_mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b)));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
  static ATTN_INLINE F sum_lanes(const F (&x)[4]) noexcept {
    return F(_mm_hadd_ps(_mm_hadd_ps(x[0], x[1]), _mm_hadd_ps(x[2], x[3])));
  }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    return U(_mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    return I(_mm_cvtepi8_epi32(_mm_loadu_si32(from)));
  }
};

}  // namespace
}  // namespace attn::kernels
