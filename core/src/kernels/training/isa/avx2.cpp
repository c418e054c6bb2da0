#include "kernels/isa/avx2.hpp"

#include "kernels/training/make_training_table.hpp"

namespace attn::kernels {
namespace {

constexpr TrainingTable kTable = make_training_table<Isa>();

}  // namespace

const TrainingTable* avx2_training_table() noexcept { return &kTable; }

}  // namespace attn::kernels
