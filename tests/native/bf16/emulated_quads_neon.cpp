// The kernels of neon_bf16 with emulated bf16 instructions. All other code uses the same vector
// instructions as neon_bf16.

#include "bf16/emulated_bf16.hpp"
#include "bf16/emulated_quads.hpp"
#include "kernels/bf16/make_bf16_table.hpp"
#include "kernels/isa/neon_bf16.hpp"

namespace attn::kernels {
namespace {

constexpr Bf16Table kTable = make_bf16_table<EmulatedQuads<Bf16Isa>>();

}  // namespace
}  // namespace attn::kernels

namespace attn_test {

const attn::kernels::Bf16Table& emulated_quads_on_neon() noexcept { return attn::kernels::kTable; }

}  // namespace attn_test
