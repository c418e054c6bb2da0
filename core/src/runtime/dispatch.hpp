#pragma once

#include "attn/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::runtime {

/// The kernels of an instruction set, or null when this build lacks them or the machine cannot run
/// them.
const kernels::KernelTable* find_kernels(InstructionSet isa) noexcept;

/// Its kernels for products of bf16 pairs; null where it has none.
const kernels::Bf16Table* find_bf16_kernels(InstructionSet isa) noexcept;

}  // namespace attn::runtime
