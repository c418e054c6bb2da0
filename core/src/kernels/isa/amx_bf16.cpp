#include "kernels/isa/amx_bf16.hpp"

#include "kernels/bf16/make_bf16_table.hpp"

namespace attn::kernels {
namespace {

constexpr Bf16Table kTable = make_bf16_table<TileIsa<AmxInstructions>>();

}  // namespace

const Bf16Table* amx_bf16_table() noexcept { return &kTable; }

}  // namespace attn::kernels
