#include "kernels/isa/neon_bf16.hpp"

#include "kernels/bf16/make_bf16_table.hpp"

namespace attn::kernels {
namespace {

constexpr Bf16Table kTable = make_bf16_table<Bf16Isa>();

}  // namespace

const Bf16Table* neon_bf16_table() noexcept { return &kTable; }

}  // namespace attn::kernels
