#include "kernels/isa/avx512.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* avx512_table() noexcept { return &kTable; }

}  // namespace attn::kernels
