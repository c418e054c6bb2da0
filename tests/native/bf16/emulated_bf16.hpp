#pragma once

#include <vector>

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn_test {

/// Kernels for bf16 pairs under test.
struct Bf16Kernels {
  const char* name;
  const attn::kernels::Bf16Table* table;
  /// The same where its products are computed in plain C++: what the definition of its instruction
  /// says. So that what lies around the instruction is tested on machines without it, and the
  /// instruction itself where there is one.
  const attn::kernels::Bf16Table* emulation;
  attn::InstructionSet floats;  ///< what computes everything else
};

/// All that can be run here. The first ones are emulations: of bfmmla, and but for aarch64, whose
/// tests run under an emulator as a rule, of vdpbf16ps and of AMX. What a machine lacks is named
/// once.
const std::vector<Bf16Kernels>& bf16_kernels();

#if defined(__x86_64__)
/// For machines with AVX512-BF16.
const attn::kernels::Bf16Table& emulated_tiles_on_avx512() noexcept;
#elif defined(__aarch64__)
/// For machines with neon_bf16.
const attn::kernels::Bf16Table& emulated_quads_on_neon() noexcept;
#endif

}  // namespace attn_test
