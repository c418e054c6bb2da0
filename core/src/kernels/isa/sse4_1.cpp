#include "kernels/isa/sse4_1.hpp"

#include "kernels/make_table.hpp"

namespace attn::kernels {
namespace {

constexpr KernelTable kTable = make_table<Isa>();

}  // namespace

const KernelTable* sse4_1_table() noexcept { return &kTable; }

}  // namespace attn::kernels
