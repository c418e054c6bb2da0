#pragma once

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elements.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/few_keys.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/masked_softmax.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/merge.hpp"
#include "kernels/norm.hpp"
#include "kernels/philox.hpp"
#include "kernels/pooling.hpp"
#include "kernels/recurrent.hpp"
#include "kernels/rotation.hpp"
#include "kernels/single_query.hpp"
#include "kernels/sinusoid.hpp"
#include "kernels/stored_product.hpp"
#include "kernels/tiles/floats.hpp"

namespace attn::kernels {

/// The kernel table of one instruction set.
template <class Isa>
constexpr KernelTable make_table() noexcept {
  return {
      .instruction_set = Isa::kInstructionSet,
      .vector_width = kWidth<Isa>,
      .pack = &pack<Isa>,
      .product_rows = kTaskRows<Isa>,
      .product_tile_rows = Isa::kRows,
      .product_scratch = &product_scratch<Isa>,
      .product = &product<Isa>,
      .stored_product_rows = kFewRows<Isa>,
      .stored_product = &stored_product<Isa>,
      .widen_panels = &widen_panels<Isa>,
      .summarize_mask = &summarize_mask<Isa>,
      .attention_rows = kPassBlocks * FloatTiles<Isa>::kQueries,
      .attention_step = FloatTiles<Isa>::kQueries,
      .attention_scratch = &attention_scratch<FloatTiles<Isa>>,
      .attend = &attend<FloatTiles<Isa>>,
      .attend_few_keys = &attend_few_keys<Isa>,
      .part_size = &part_size<Isa>,
      .attend_part = &attend_part<Isa>,
      .merge_parts = &merge_parts<Isa>,
      .rotated_sinusoids = &rotated_sinusoids<Isa>,
      .sinusoids = &sinusoids<Isa>,
      .rotate_pairs = &rotate_pairs<Isa>,
      .softmax = &masked_softmax<Isa>,
      .add = &add<Isa>,
      .widen = &widen<Isa>,
      .narrow = &narrow<Isa>,
      .merge = &merge<Isa>,
      .pool = &pool<Isa>,
      .gru_cell = &gru_cell<Isa>,
      .rnn_cell = &rnn_cell<Isa>,
      .activation = &choose_activation<Isa>,
      .norm = &norm<Isa>,
      .random_words = &random_words<Isa>,
      .dropout = &dropout<Isa>,
  };
}

}  // namespace attn::kernels
