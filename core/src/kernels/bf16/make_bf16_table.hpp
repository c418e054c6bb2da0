#pragma once

#include "kernels/attention.hpp"
#include "kernels/bf16/product.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/tiles/amx.hpp"
#include "kernels/tiles/pairs.hpp"

namespace attn::kernels {

/// The kind of tiles that suits the products of an instruction set.
template <class Isa>
struct ChooseTiles {
  using Tiles = PairTiles<Isa>;
};
template <class Isa>
  requires kQuads<Isa>
struct ChooseTiles<Isa> {
  using Tiles = PairTiles<Isa, QuadLayout<Isa>>;
};
template <class Isa>
  requires kTiles<Isa>
struct ChooseTiles<Isa> {
  using Tiles = AmxTiles<Isa>;
};

template <class Isa>
void attend_pairs(const Bf16AttentionHead& head, index row_begin, index row_end,
                  float* scratch) noexcept {
  [[maybe_unused]] const TileSession<Isa> session(kTileEdge);
  attend<typename ChooseTiles<Isa>::Tiles>(head, row_begin, row_end, nullptr, 0, scratch);
}

/// The table of an instruction set that multiplies pairs.
template <class Isa>
constexpr Bf16Table make_bf16_table() noexcept {
  static_assert(kPairs<Isa>);
  using Tiles = typename ChooseTiles<Isa>::Tiles;
  return {
      .instruction_set = Isa::kInstructionSet,
      .product_rows = kTaskRows<Isa>,
      .product_tile_rows = Isa::kRows,
      .product_scratch = &bf16_product_scratch<Isa>,
      .product = &bf16_product<Isa>,
      .attention_rows = kPassBlocks * Tiles::kQueries,
      .attention_step = Tiles::kQueries,
      .attention_scratch = &attention_scratch<Tiles>,
      .attend = &attend_pairs<Isa>,
  };
}

}  // namespace attn::kernels
