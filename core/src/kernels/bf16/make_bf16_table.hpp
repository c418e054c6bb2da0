#pragma once

#include "kernels/attention.hpp"
#include "kernels/bf16/product.hpp"
#include "kernels/kernel_table.hpp"

namespace attn::kernels {

template <class Isa>
void attend_pairs(const Bf16AttentionHead& head, index row_begin, index row_end,
                  float* scratch) noexcept {
  [[maybe_unused]] const TileSession<Isa> session(kTileEdge);
  attend<Isa>(head, row_begin, row_end, nullptr, 0, scratch);
}

/// The table of an instruction set that multiplies pairs.
template <class Isa>
constexpr Bf16Table make_bf16_table() noexcept {
  static_assert(kPairs<Isa>);
  return {
      .instruction_set = Isa::kInstructionSet,
      .product_rows = kTaskRows<Isa>,
      .product_tile_rows = Isa::kRows,
      .product_scratch = &bf16_product_scratch<Isa>,
      .product = &bf16_product<Isa>,
      .attention_rows = kPassBlocks * kQueries<Isa>,
      .attention_step = kQueries<Isa>,
      .attention_scratch = &attention_scratch<Isa>,
      .attend = &attend_pairs<Isa>,
  };
}

}  // namespace attn::kernels
