#include "kernels/isa/wasm_simd128.hpp"

#include "kernels/training/make_training_table.hpp"

namespace attn::kernels {
namespace {

constexpr TrainingTable kTable = make_training_table<Isa>();

}  // namespace

const TrainingTable* wasm_simd128_training_table() noexcept { return &kTable; }

}  // namespace attn::kernels
