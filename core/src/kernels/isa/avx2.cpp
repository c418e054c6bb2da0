#include "kernels/isa/avx2.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* avx2_table() noexcept { return &kTable; }

}  // namespace attn::kernels
