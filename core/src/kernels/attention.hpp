#pragma once

// Tiled attention with an online softmax: a block of queries processes one tile of keys after
// another and carries only a running maximum, a running sum and an unnormalised output row for each
// query (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135).
//
//   s_ij = bias(cap(scale · q_i·k_j))          for the keys j that query i may attend to
//   m_i  = max_j s_ij,   l_i = Σ_j exp(s_ij − m_i)
//   o_i  = Σ_j exp(s_ij − m_i) · v_j / l_i,    lse_i = m_i + ln l_i
//
// The keys are not known all at once, so these sums are updated with each tile T of keys. They
// start at m_i = −∞, l_i = 0, a_i = 0:
//
//   m'_i = max(m_i, round(max_{j∈T} s_ij)),   f_i = exp(m_i − m'_i)
//   l'_i = f_i · l_i + Σ_{j∈T} exp(s_ij − m'_i)
//   a'_i = f_i · a_i + Σ_{j∈T} exp(s_ij − m'_i) · v_j
//
// After the last tile, o_i = a_i / l_i. The factor f_i turns sums that were computed with the old
// maximum into sums with the new maximum. Because o_i and lse_i are the same for any m_i, m_i may
// be rounded. The code calls a_i the accumulator.
//
// A tile of scores is (keys × queries): vectors run along the queries of a block, which are
// transposed once. Keys and values can then be read in place, and the softmax needs no sum across a
// vector. The softmax computes 2^s instead of exp(s), so its scores are in units of ln 2;
// attention_tile.hpp explains where they are multiplied by log2 e. In these units, round(…) is the
// nearest integer, so subtracting the maximum changes only exponents, and rescaling is exact.
//
// The kinds of tiles differ in their arithmetic: tiles/floats.hpp multiplies floats,
// tiles/pairs.hpp multiplies bf16 pairs, and tiles/amx.hpp multiplies bf16 pairs on tile hardware.
// This file and the attention_*.hpp files do not depend on the kind of tiles.
//
// From the bottom up: attention_scratch.hpp defines the memory of a block, attention_softmax.hpp
// computes the running softmax, attention_tile.hpp processes one tile of keys, attention_block.hpp
// starts and finishes a block, and this file runs blocks over all tiles.

#include <algorithm>

#include "kernels/attention_block.hpp"

namespace attn::kernels {

/// Computes attention for queries [row_begin, row_end) of a head, in passes of kPassBlocks blocks.
template <class Tiles>
void attend(const typename Tiles::Head& head, index row_begin, index row_end,
            const ScoreOutput* outputs, int num_outputs, float* memory) noexcept {
  constexpr index kQueries = Tiles::kQueries;
  using Scratch = typename Tiles::Scratch;
  const auto scratch = [&](index i) {
    return Scratch(head, memory, memory + Scratch::shared_size(head) + i * Scratch::own_size(head));
  };
  for (index row = row_begin; row < row_end; row += kPassBlocks * kQueries) {
    QueryBlock blocks[kPassBlocks];
    index count = 0;
    for (index first = row; first < row_end && count < kPassBlocks; first += kQueries) {
      blocks[count] =
          begin_block<Tiles>(head, first, std::min(kQueries, row_end - first), scratch(count));
      ++count;
    }
    attend_blocks<Tiles>(head, blocks, count, nullptr, scratch);
    for (index i = 0; i < count; ++i) {
      finish_block<Tiles>(head, blocks[i], outputs, num_outputs, scratch(i));
    }
  }
}

}  // namespace attn::kernels
