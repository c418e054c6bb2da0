#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

struct Isa {
  using Arch = xsimd::wasm;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kWasmRelaxedSimd;
  static constexpr int kRows = 2;
  static constexpr int kVectors = 4;
  using F = xsimd::batch<float, Arch>;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return F(wasm_f32x4_relaxed_madd(a, b, c)); }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::max(x, low); }
};

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* wasm_relaxed_simd_table() noexcept { return &kTable; }

}  // namespace attn::kernels
