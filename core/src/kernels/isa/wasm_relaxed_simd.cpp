#include "kernels/isa/wasm_relaxed_simd.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* wasm_relaxed_simd_table() noexcept { return &kTable; }

}  // namespace attn::kernels
