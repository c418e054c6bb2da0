#pragma once

#include "kernels/isa/neon.hpp"

namespace attn::kernels {
namespace {

/// NEON with products of bytes, which byte_rows.hpp uses for int8 caches. A vector has one part.
struct DotIsa : Isa {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kNeonDotprod;
  static constexpr bool kSignedBytes = true;

  static ATTN_INLINE I dot_bytes(I a, I b, I c) noexcept {
    return I(vdotq_s32(c, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
  }
  static ATTN_INLINE I load_row(const void* from) noexcept {
    return I(vreinterpretq_s32_s8(vld1q_s8(static_cast<const std::int8_t*>(from))));
  }
  static ATTN_INLINE I load_row(const void* from, index count) noexcept {
    if (count >= 16) return load_row(from);
    if (count == 8) {
      const int8x8_t low = vld1_s8(static_cast<const std::int8_t*>(from));
      return I(vreinterpretq_s32_s8(vcombine_s8(low, vdup_n_s8(0))));
    }
    std::int8_t bytes[16] = {};
    __builtin_memcpy(bytes, from, static_cast<std::size_t>(count));
    return load_row(bytes);
  }
  static ATTN_INLINE void store_low_bytes(I words, void* to) noexcept {
    const int16x4_t halves = vmovn_s32(words);
    const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
    __builtin_memcpy(to, &bytes, 4);
  }
  template <int Column>
  static ATTN_INLINE I spread_column(I x) noexcept {
    return I(vdupq_laneq_s32(x, Column));
  }
  static ATTN_INLINE void transpose_words(I (&x)[4]) noexcept {
    const int64x2_t low01 = vreinterpretq_s64_s32(vzip1q_s32(x[0], x[1]));
    const int64x2_t high01 = vreinterpretq_s64_s32(vzip2q_s32(x[0], x[1]));
    const int64x2_t low23 = vreinterpretq_s64_s32(vzip1q_s32(x[2], x[3]));
    const int64x2_t high23 = vreinterpretq_s64_s32(vzip2q_s32(x[2], x[3]));
    x[0] = I(vreinterpretq_s32_s64(vzip1q_s64(low01, low23)));
    x[1] = I(vreinterpretq_s32_s64(vzip2q_s64(low01, low23)));
    x[2] = I(vreinterpretq_s32_s64(vzip1q_s64(high01, high23)));
    x[3] = I(vreinterpretq_s32_s64(vzip2q_s64(high01, high23)));
  }
  static ATTN_INLINE void interleave_bytes(I (&x)[4]) noexcept {
    int8x16_t rows[4];
    unroll<4>([&](auto i) ATTN_INLINED { rows[i] = vreinterpretq_s8_s32(x[i]); });
    const int16x8_t low01 = vreinterpretq_s16_s8(vzip1q_s8(rows[0], rows[1]));
    const int16x8_t high01 = vreinterpretq_s16_s8(vzip2q_s8(rows[0], rows[1]));
    const int16x8_t low23 = vreinterpretq_s16_s8(vzip1q_s8(rows[2], rows[3]));
    const int16x8_t high23 = vreinterpretq_s16_s8(vzip2q_s8(rows[2], rows[3]));
    x[0] = I(vreinterpretq_s32_s16(vzip1q_s16(low01, low23)));
    x[1] = I(vreinterpretq_s32_s16(vzip2q_s16(low01, low23)));
    x[2] = I(vreinterpretq_s32_s16(vzip1q_s16(high01, high23)));
    x[3] = I(vreinterpretq_s32_s16(vzip2q_s16(high01, high23)));
  }
  static ATTN_INLINE F sum_parts(const F (&x)[1]) noexcept { return x[0]; }
  static ATTN_INLINE void order_parts(F (& /*x*/)[4]) noexcept {}
};

}  // namespace
}  // namespace attn::kernels
