#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

struct Isa {
  using Arch = xsimd::avx512bw;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512;
  static constexpr int kRows = 14;
  static constexpr int kVectors = 2;
  using F = xsimd::batch<float, Arch>;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return xsimd::fma(a, b, c); }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(low, x); }
};

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* avx512_table() noexcept { return &kTable; }

}  // namespace attn::kernels
