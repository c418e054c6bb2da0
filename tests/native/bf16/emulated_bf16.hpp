#pragma once

#include <vector>

#include "kernels/kernel_table.hpp"

namespace attn_test {

/// Kernels for bf16 pairs whose products are vdpbf16ps in plain C++: what its definition says it
/// computes. So that what lies around the instruction is tested on machines without it, and the
/// instruction itself where there is one.
const attn::kernels::Bf16Table& emulated_bf16_table() noexcept;

/// Every table for bf16 pairs that can be run here; the emulated one is the first.
std::vector<const attn::kernels::Bf16Table*> bf16_tables();

}  // namespace attn_test
