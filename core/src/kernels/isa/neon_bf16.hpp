#pragma once

#include "kernels/isa/neon.hpp"

namespace attn::kernels {
namespace {

/// Products use bfmmla, or bfdot where one row is multiplied by one column. Both multiply the first
/// numbers of two pairs, multiply their second numbers, add the two products, and add that sum to
/// c. bfmmla does so for one pair of its quads, then for the other. Each of these sums is rounded
/// to odd: if it is not exact, the result is the neighbour whose last bit is set. Subnormal inputs
/// and results are treated as zero. (FPCR.EBF would change this; it is 0 unless a program sets it.)
struct Bf16Isa : Isa {
  using FloatIsa = Isa;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kNeonBf16;
  // 24 registers hold sums, four hold B, and one or two hold A. The number of rows must be even.
  // The number of columns must be even, too, and fit in a panel.
  static constexpr int kRows = 12;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = kRows;
  static constexpr int kScoreVectors = kVectors;
  static constexpr int kSoftmaxVectors = 2;
  static constexpr int kValueRows = kRows;

  // This function is written in assembly, because GCC 12 compiles a constant vector of bfloat16 1.0
  // as a vector of float16 1.0.
  static ATTN_INLINE F dot(F a, F b, F c) noexcept {
    float32x4_t sum = c;
    __asm__("bfdot %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(float32x4_t(a)), "w"(float32x4_t(b)));
    return F(sum);
  }
  static ATTN_INLINE F dot_quads(F a, F b, F c) noexcept {
    return F(vbfmmlaq_f32(c, numbers_of(a), numbers_of(b)));
  }
  using Isa::narrow;
  static ATTN_INLINE F narrow(F a, F b) noexcept {
    return F(vreinterpretq_f32_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(a), b)));
  }
  static ATTN_INLINE F pair(F a, F b) noexcept {
    return F(vreinterpretq_f32_u16(vzip1q_u16(rounded(a), rounded(b))));
  }

 private:
  static ATTN_INLINE bfloat16x8_t numbers_of(float32x4_t x) noexcept {
    return vreinterpretq_bf16_f32(x);
  }
  static ATTN_INLINE uint16x8_t rounded(float32x4_t x) noexcept {
    return vreinterpretq_u16_bf16(vcvtq_low_bf16_f32(x));
  }
};

}  // namespace
}  // namespace attn::kernels
