#include "kernels/isa/scalar.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* scalar_table() noexcept { return &kTable; }

}  // namespace attn::kernels
