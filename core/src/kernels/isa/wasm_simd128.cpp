#include "kernels/isa/wasm_simd128.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* wasm_simd128_table() noexcept { return &kTable; }

}  // namespace attn::kernels
