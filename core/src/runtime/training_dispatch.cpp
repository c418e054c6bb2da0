#include "runtime/training_dispatch.hpp"

namespace attn::runtime {

const kernels::TrainingTable* find_training_kernels(InstructionSet isa) noexcept {
  switch (isa) {
#if defined(__x86_64__)
    case InstructionSet::kAmxBf16:
    case InstructionSet::kAvx512Bf16:
    case InstructionSet::kAvx512Vnni:
    case InstructionSet::kAvx512:
      return kernels::avx512_training_table();
    case InstructionSet::kAvx2:
      return kernels::avx2_training_table();
    case InstructionSet::kSse41:
      return kernels::sse4_1_training_table();
#elif defined(__aarch64__)
    case InstructionSet::kNeonBf16:
    case InstructionSet::kNeonDotprod:
    case InstructionSet::kNeon:
      return kernels::neon_training_table();
#elif defined(__wasm_relaxed_simd__)
    case InstructionSet::kWasmRelaxedSimd:
      return kernels::wasm_relaxed_simd_training_table();
#elif defined(__wasm_simd128__)
    case InstructionSet::kWasmSimd128:
      return kernels::wasm_simd128_training_table();
#endif
#if !defined(__wasm_simd128__)
    case InstructionSet::kScalar:
      return kernels::scalar_training_table();
#endif
    default:
      return nullptr;
  }
}

}  // namespace attn::runtime
