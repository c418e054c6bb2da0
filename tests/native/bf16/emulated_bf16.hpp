#pragma once

#include <vector>

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn_test {

/// One table of kernels for bf16 pairs.
struct Bf16Kernels {
  const char* name;
  const attn::kernels::Bf16Table* table;
  /// The same kernels with products computed in plain C++ according to the instruction's
  /// definition. On machines without the instruction, these kernels test the code around the
  /// instruction. On machines with the instruction, they also test the instruction itself.
  const attn::kernels::Bf16Table* emulation;
  attn::InstructionSet floats;  ///< instruction set of the kernels that `table` lacks
};

/// All kernels that can run here, emulations first. bfmmla is emulated on every machine. vdpbf16ps
/// and AMX are emulated on every machine except aarch64, where the tests usually run under an
/// emulator. Prints which instructions the machine lacks, but only once.
const std::vector<Bf16Kernels>& bf16_kernels();

#if defined(__x86_64__)
/// Returns the kernels with emulated AMX tiles, for machines with AVX512-BF16.
const attn::kernels::Bf16Table& emulated_tiles_on_avx512() noexcept;
#elif defined(__aarch64__)
/// Returns the kernels with emulated bf16 instructions, for machines with neon_bf16.
const attn::kernels::Bf16Table& emulated_quads_on_neon() noexcept;
#endif

}  // namespace attn_test
