#include "kernels/isa/sse4_1.hpp"

#include "kernels/training/make_training_table.hpp"

namespace attn::kernels {
namespace {

constexpr TrainingTable kTable = make_training_table<Isa>();

}  // namespace

const TrainingTable* sse4_1_training_table() noexcept { return &kTable; }

}  // namespace attn::kernels
