#pragma once

// Attention's backward pass. P_ij = exp(s_ij − lse_i) is recomputed from the log-sum-exp:
//
//   D_i   = Σ_d dO_id · O_id
//   dV_j  = Σ_i P_ij · dO_i
//   dP_ij = dO_i · v_j
//   dS_ij = P_ij · (dP_ij − D_i)
//   dQ_i  = scale · Σ_j dS_ij · k_j
//   dK_j  = scale · Σ_i dS_ij · q_i
//
// (Dao et al. 2022, arXiv:2205.14135, appendix B.4.) Memory is linear in the lengths.
//
// Tiles of scores are (keys × queries), as in the forward pass. All five products read their
// operands in place. For scores and dP, the queries and dO are transposed, once for a chunk of
// keys. The other three products sum along the keys or along the queries of a tile.
//
// The gradient of an excluded score is set to zero by selection, not by multiplication, because the
// values computed for an excluded key may be NaN.
//
// attention_gradient_scratch.hpp defines the memory of a block of queries.
// attention_gradient_tile.hpp computes the products and the softmax of one tile,
// attention_gradient_block.hpp processes a block, and attention_gradient_relative.hpp adds the
// terms of relative keys and values. This file runs a block over the tiles of a chunk.

#include <algorithm>

#include "kernels/training/attention_gradient_block.hpp"
#include "kernels/training/attention_gradient_relative.hpp"

namespace attn::kernels {

/// Number of keys in a chunk. Every chunk reads all queries again, so long chunks cost less. With
/// short chunks, several threads can share the work of few heads. Only AVX-512 uses sizes other
/// than 256: with other instruction sets, the products are slower, so the chunk size matters less.
template <class Isa>
index gradient_keys(index keys, index heads) noexcept {
  constexpr index kFewHeads = 4;
  if constexpr (Isa::kInstructionSet == InstructionSet::kAvx512) {
    if (heads >= kFewHeads && keys >= 1024) return 512;
    if (heads < kFewHeads && keys <= 512) return 128;
  }
  return 256;
}

template <class Isa>
index attention_gradient_scratch(const AttentionHead& head) noexcept {
  return GradientScratch<Isa>::size(head);
}

template <class Isa>
void load_keys(const AttentionHead& head, KeyChunk& chunk) noexcept {
  const index keys = chunk.key_end - chunk.key_begin;
  chunk.is_finite =
      copy_padded<Isa>(keys, head.head_dim, head.key.rows_from(chunk.key_begin), chunk.keys);
  chunk.is_finite &=
      copy_padded<Isa>(keys, head.value_dim, head.value.rows_from(chunk.key_begin), chunk.values);
}

/// Processes all keys of the chunk. Returns false if the queries may not attend to any of them.
template <class Isa>
bool GradientBlock<Isa>::backpropagate(float* query_gradients) noexcept {
  if (!find_keys()) return false;
  load_queries();
  std::fill_n(query_gradients, count_ * key_row_, 0.0F);
  const index sums = count_ * scratch_.relative_row;
  if (steps_.relative_keys) {
    multiply_relative(gradient_.relative_keys, key_row_, head_.head_dim, scratch_.queries,
                      scratch_.key_products);
    std::fill_n(scratch_.key_distance_sums, sums, 0.0F);
  }
  if (steps_.relative_values) {
    multiply_relative(head_.relative_values, value_row_, head_.value_dim, scratch_.output_gradients,
                      scratch_.value_products);
    std::fill_n(scratch_.value_distance_sums, sums, 0.0F);
  }
  for (index key0 = key_begin_, keys = 0; key0 < key_end_; key0 += keys) {
    keys = begin_tile(key0);
    if (cover(key0, keys) == Coverage::kNone) continue;
    score_tile(key0, keys);
    differentiate_weights(key0, keys);
    if (gradient_.weights) store_weight_gradients(key0, keys);
    for_columns<Isa, Isa::kSoftmaxVectors>(
        lanes_,
        [&](index col, auto vectors)
            ATTN_INLINED { differentiate_softmax<Isa, vectors>(keys, col, scratch_); },
        first_lane_);
    if (steps_.dropout)
      multiply_tile<Isa>(keys, lanes_, scratch_.dropout_factors, scratch_.weights);
    if (steps_.relative_values) {
      transform_rows<Isa>(
          keys, count_, scratch_.weights, 1.0F, scratch_, [&](index r, float* weights) {
            sum_by_distance<Isa>(head_, first_ + r, key0, keys, weights,
                                 scratch_.value_distance_sums + r * scratch_.relative_row);
          });
    }
    if (steps_.gradients_by_row) backpropagate_scores(key0, keys);
    if (is_finite_) {
      add_products(key0, keys, query_gradients);
    } else {
      add_attended_products(key0, keys, query_gradients);
    }
  }
  add_relative_products(query_gradients);
  for (index i = 0; i < count_ * key_row_; i += kWidth<Isa>) {
    (Floats<Isa>::load_unaligned(query_gradients + i) * Floats<Isa>(head_.scale))
        .store_unaligned(query_gradients + i);
  }
  return true;
}

template <class Isa>
bool backpropagate_attention(const AttentionHead& head, const AttentionGradientHead& gradient,
                             index first, index count, const KeyChunk& chunk,
                             float* query_gradients, float* memory) noexcept {
  return GradientBlock<Isa>(head, gradient, first, count, chunk, memory)
      .backpropagate(query_gradients);
}

}  // namespace attn::kernels
