#pragma once

#include "kernels/isa/avx512.hpp"

namespace attn::kernels {
namespace {

/// Products use vdpbf16ps, which adds the product of the second numbers of two pairs, then the
/// product of the first numbers. Each addition is a multiply-add that rounds once, to nearest even,
/// and treats subnormal inputs and results as zero.
struct Bf16Isa : Isa {
  using FloatIsa = Isa;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512Bf16;

  static ATTN_INLINE F dot(F a, F b, F c) noexcept {
    return F(_mm512_dpbf16_ps(c, pairs_of(a), pairs_of(b)));
  }
  static ATTN_INLINE F narrow(F a, F b) noexcept {
    return F(_mm512_castsi512_ps(std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a))));
  }
  static ATTN_INLINE F pair(F a, F b) noexcept {
    alignas(64) static constexpr std::uint16_t kInterleaved[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return F(_mm512_castsi512_ps(_mm512_permutexvar_epi16(
        _mm512_load_si512(kInterleaved), std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a)))));
  }

 private:
  static ATTN_INLINE __m512bh pairs_of(__m512 x) noexcept { return std::bit_cast<__m512bh>(x); }
};

}  // namespace
}  // namespace attn::kernels
