// The kernels of amx_bf16 with emulated tile hardware, for machines with AVX512-BF16.

#include <bit>

#include "bf16/emulated_bf16.hpp"
#include "bf16/emulated_tiles.hpp"
#include "kernels/bf16/make_bf16_table.hpp"
#include "kernels/isa/amx_bf16.hpp"

namespace attn::kernels {
namespace {

constexpr Bf16Table kTable = make_bf16_table<TileIsa<EmulatedTiles>>();

}  // namespace
}  // namespace attn::kernels

namespace attn_test {

const attn::kernels::Bf16Table& emulated_tiles_on_avx512() noexcept {
  return attn::kernels::kTable;
}

}  // namespace attn_test
