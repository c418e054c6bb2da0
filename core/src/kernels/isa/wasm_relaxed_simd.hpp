#pragma once

#include "kernels/isa/wasm_pair_loads.hpp"

namespace attn::kernels {
namespace {

/// The dot products of int8 are not used: they need a query of 7 bits, so scores would differ from
/// the scores of the same numbers stored as float32.
struct Isa : IsaVectors<xsimd::wasm>, WasmPairLoads {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kWasmRelaxedSimd;
  // On Zen 5 in Chromium 156, tiles of 6 × 2 are up to 7 % faster than tiles of 2 × 4, and other
  // shapes are slower. Engines released in 2023 are an exception: with 6 × 2, Node 20 takes 60 %
  // longer.
  static constexpr int kRows = 6;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 6;
  static constexpr int kScoreVectors = 2;
  static constexpr int kSoftmaxVectors = 1;
  static constexpr int kValueRows = 6;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 1;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return F(wasm_f32x4_relaxed_madd(a, b, c)); }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return D(wasm_f64x2_relaxed_madd(a, b, c)); }
  // Relaxed SIMD has no a·b − c; negating c costs as much as multiplying and subtracting.
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return a * b - c; }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept {
    return W(wasm_u64x2_extmul_low_u32x4(wasm_i32x4_shuffle(a, a, 0, 2, 0, 2),
                                         wasm_i32x4_shuffle(b, b, 0, 2, 0, 2)));
  }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(a), wasm_f32x4_demote_f64x2_zero(b), 0,
                                1, 4, 5));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(x, low); }
  static ATTN_INLINE F sum_lanes(const F (&x)[4]) noexcept {
    const v128_t a = wasm_f32x4_add(wasm_i32x4_shuffle(x[0], x[1], 0, 1, 4, 5),
                                    wasm_i32x4_shuffle(x[0], x[1], 2, 3, 6, 7));
    const v128_t b = wasm_f32x4_add(wasm_i32x4_shuffle(x[2], x[3], 0, 1, 4, 5),
                                    wasm_i32x4_shuffle(x[2], x[3], 2, 3, 6, 7));
    return F(
        wasm_f32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7)));
  }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    return U(wasm_u32x4_load16x4(from));
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    return I(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(from))));
  }
};

}  // namespace
}  // namespace attn::kernels
