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

#include "kernels/training/attention_gradient_block.hpp"

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
  const float* key = head.key + chunk.key_begin * head.key_row;
  const float* value = head.value + chunk.key_begin * head.value_row;
  chunk.is_finite = copy_padded<Isa>(keys, head.head_dim, {key, head.key_row}, chunk.keys);
  chunk.is_finite &= copy_padded<Isa>(keys, head.value_dim, {value, head.value_row}, chunk.values);
}

template <class Isa>
bool backpropagate_attention(const AttentionHead& head, const AttentionGradientHead& gradient,
                             index first, index count, const KeyChunk& chunk,
                             float* query_gradients, float* memory) noexcept {
  return GradientBlock<Isa>(head, gradient, first, count, chunk, memory)
      .backpropagate(query_gradients);
}

}  // namespace attn::kernels
