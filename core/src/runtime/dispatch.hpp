#pragma once

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::runtime {

/// The kernels of an instruction set, or null when this build lacks them or the machine cannot run
/// them.
const kernels::KernelTable* find_kernels(InstructionSet isa) noexcept;

/// Bytes of a core's first-level cache for data; 0 where the system does not tell.
kernels::index first_level_cache() noexcept;

}  // namespace attn::runtime
