#pragma once

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::runtime {

/// Returns the kernels of an instruction set, or null if this build lacks them or the machine
/// cannot run them. The machine is queried once per process.
const kernels::KernelTable* find_kernels(InstructionSet isa) noexcept;

/// The kernels of the best instruction set, for functions that have no context and whose results
/// are bit-identical on every instruction set.
const kernels::KernelTable& best_kernels() noexcept;

/// Returns the kernels of an instruction set for products of bf16 pairs, or null if there are none.
const kernels::Bf16Table* find_bf16_kernels(InstructionSet isa) noexcept;

}  // namespace attn::runtime
