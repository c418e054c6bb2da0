#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa {
  using Arch = xsimd::sse4_1;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kSse41;
  static constexpr int kRows = 4;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 4;
  static constexpr int kScoreVectors = 2;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  static constexpr int kValueRows = 4;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 2;
  using F = xsimd::batch<float, Arch>;
  using D = xsimd::batch<double, Arch>;
  using W = xsimd::batch<std::uint64_t, Arch>;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return a * b + c; }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return a * b + c; }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return a * b - c; }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept { return W(_mm_mul_epu32(a, b)); }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(_mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b)));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
};

}  // namespace
}  // namespace attn::kernels
