#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa : IsaVectors<xsimd::neon64> {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kNeon;
  static constexpr int kRows = 6;
  static constexpr int kVectors = 4;
  static constexpr int kScoreRows = 6;
  static constexpr int kScoreVectors = 4;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  static constexpr int kValueRows = 6;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 2;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return xsimd::fma(a, b, c); }
  // NEON has c − a·b, but no a·b − c; negating c costs as much as multiplying and subtracting.
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return a * b - c; }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept {
    return W(vmull_u32(vmovn_u64(a), vmovn_u64(b)));
  }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(vcvt_high_f32_f64(vcvt_f32_f64(a), b));
  }
  static ATTN_INLINE F divide(F a, F b) noexcept { return F(vdivq_f32(a, b)); }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
  static ATTN_INLINE F sum_lanes(const F (&x)[4]) noexcept {
    return F(vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3])));
  }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    return U(vmovl_u16(vld1_u16(static_cast<const std::uint16_t*>(from))));
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    std::uint32_t bytes = 0;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return I(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes))))));
  }
  static ATTN_INLINE F load_float16(const void* from) noexcept {
    return F(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(static_cast<const std::uint16_t*>(from)))));
  }
  static ATTN_INLINE void store_float16(F x, void* to) noexcept {
    vst1_u16(static_cast<std::uint16_t*>(to), vreinterpret_u16_f16(vcvt_f16_f32(x)));
  }
};

}  // namespace
}  // namespace attn::kernels
