#include "kernels/isa/avx512_vnni.hpp"

#include "kernels/attention.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/single_query.hpp"
#include "kernels/tiles/floats.hpp"

namespace attn::kernels {

// This table differs from the AVX-512 table only for a single query over an int8 cache.
const KernelTable* avx512_vnni_table() noexcept {
  static const KernelTable table = [] {
    KernelTable result = *avx512_table();
    result.instruction_set = VnniIsa::kInstructionSet;
    result.attention_scratch = &attention_scratch<FloatTiles<VnniIsa>>;
    result.part_size = &part_size<VnniIsa>;
    result.attend_part = &attend_part<VnniIsa>;
    result.merge_parts = &merge_parts<VnniIsa>;
    return result;
  }();
  return &table;
}

}  // namespace attn::kernels
