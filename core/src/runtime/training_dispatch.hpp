#pragma once

#include "attn/instruction_set.hpp"
#include "kernels/training/training_table.hpp"

namespace attn::runtime {

/// The training kernels of an instruction set that the machine can run. This function is separate
/// from find_kernels, so that programs that only run inference do not link the training kernels.
const kernels::TrainingTable* find_training_kernels(InstructionSet isa) noexcept;

}  // namespace attn::runtime
