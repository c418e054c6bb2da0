#include "kernels/isa/neon_dotprod.hpp"

#include "kernels/attention.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/single_query.hpp"
#include "kernels/tiles/floats.hpp"

namespace attn::kernels {

// This table differs from the NEON table only for a single query over an int8 cache.
const KernelTable* neon_dotprod_table() noexcept {
  static const KernelTable table = [] {
    KernelTable result = *neon_table();
    result.instruction_set = DotIsa::kInstructionSet;
    result.attention_scratch = &attention_scratch<FloatTiles<DotIsa>>;
    result.part_size = &part_size<DotIsa>;
    result.attend_part = &attend_part<DotIsa>;
    result.merge_parts = &merge_parts<DotIsa>;
    return result;
  }();
  return &table;
}

}  // namespace attn::kernels
