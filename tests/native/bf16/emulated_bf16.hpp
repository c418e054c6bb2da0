#pragma once

#include <vector>

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn_test {

/// The kernels for bf16 pairs of one table.
struct Bf16Kernels {
  const char* name;
  const attn::kernels::Bf16Table* table;
  /// The same kernels with products computed in plain C++, as the instruction is defined. They test
  /// the code around the instruction on machines without it, and the instruction itself where it
  /// exists.
  const attn::kernels::Bf16Table* emulation;
  attn::InstructionSet floats;  ///< computes everything else
};

/// All kernels that can run here, emulations first. bfmmla is emulated on every machine; vdpbf16ps
/// and AMX are not emulated on aarch64, whose tests usually run under an emulator. Prints once what
/// a machine lacks.
const std::vector<Bf16Kernels>& bf16_kernels();

#if defined(__x86_64__)
/// For machines with AVX512-BF16.
const attn::kernels::Bf16Table& emulated_tiles_on_avx512() noexcept;
#elif defined(__aarch64__)
/// For machines with neon_bf16.
const attn::kernels::Bf16Table& emulated_quads_on_neon() noexcept;
#endif

}  // namespace attn_test
