#pragma once

#include "attn/instruction_set.hpp"
#include "kernels/training/training_table.hpp"

namespace attn::runtime {

/// The training kernels of an instruction set that the machine can run. They are separate from
/// find_kernels, so that a program that only infers does not link them.
const kernels::TrainingTable* find_training_kernels(InstructionSet isa) noexcept;

}  // namespace attn::runtime
