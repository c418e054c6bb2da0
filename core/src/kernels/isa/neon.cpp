#include "kernels/isa/neon.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* neon_table() noexcept { return &kTable; }

}  // namespace attn::kernels
