#pragma once

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elements.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/few_keys.hpp"
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

namespace attn::kernels {

/// The table of one instruction set. `Isa` provides:
///   Arch               the xsimd architecture
///   kInstructionSet    its name for the rest of the core
///   kRows, kVectors    shape of the micro-kernel's tile in a product, in rows and vectors: as
///   large
///                      as the register file allows
///   kScoreRows, kScoreVectors  the same for q·k: keys, and vectors of queries; a block of queries
///                      is made of whole tiles
///   kSoftmaxVectors    vectors of queries whose exponentials are taken side by side
///   kValueRows         the same for weights·v: queries, with kVectors vectors of values
///   kTileKeys          keys of a tile of scores. The order of sums depends on it, so it is not
///   fitted
///                      to the first-level cache of the machine: 128 where machines with the
///                      instruction set have 48 KB as a rule and gain by it, else 64
///   kSteps             steps of depth between the branches of a tile's loop: two spare
///   instructions,
///                      but with four GCC keeps a sum in memory, and with two so do the engines
///                      that run WebAssembly, which load for both before they add
///   load_columns(rows, col, columns)  columns col … col + 3 of as many rows as a vector has lanes;
///                      where these are more than four
///   madd(a, b, c)      a·b + c, for floats and doubles
///   msub(a, b, c)      a·b − c, for doubles
///   multiply_wide(a, b) the 64-bit products of the low halves of 64-bit lanes
///   narrow(a, b)       two vectors of doubles rounded to one of floats
///   at_least(x, low)   max(x, low) that keeps a NaN in x
///   sum_lanes(x)       of as many vectors as they have lanes: the bits of xsimd's reduce_add of
///   each;
///                      where there is a faster way than one by one
///   load_words(from)   as many 16-bit numbers as a vector has lanes, with zeros above them
///   load_bytes(from)   as many bytes, with their signs
///   load_float16(from), store_float16(x, to)  the same in float16; where there are instructions
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
      .attention_rows = kPassBlocks * kBlockQueries,
      .attention_step = kBlockQueries,
      .attention_scratch = &attention_scratch<Isa>,
      .attend = &attend<Isa>,
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
      .relu = &relu_all<Isa>,
      .gelu = &gelu_all<Isa>,
      .gelu_tanh = &gelu_tanh_all<Isa>,
      .silu = &silu_all<Isa>,
      .tanh = &tanh_all<Isa>,
      .sigmoid = &sigmoid_all<Isa>,
      .norm = &norm<Isa>,
      .random_words = &random_words<Isa>,
      .dropout = &dropout<Isa>,
  };
}

}  // namespace attn::kernels
