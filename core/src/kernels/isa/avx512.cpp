#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

struct Isa {
  using Arch = xsimd::avx512bw;
  using Transposing = xsimd::fma3<xsimd::avx2>;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512;
  static constexpr int kRows = 14;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = 8;
  static constexpr int kScoreVectors = 3;
  static constexpr int kValueRows = 12;
  using F = xsimd::batch<float, Arch>;
  using D = xsimd::batch<double, Arch>;
  using W = xsimd::batch<std::uint64_t, Arch>;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return xsimd::fms(a, b, c); }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept { return W(_mm512_mul_epu32(a, b)); }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
};

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* avx512_table() noexcept { return &kTable; }

}  // namespace attn::kernels
