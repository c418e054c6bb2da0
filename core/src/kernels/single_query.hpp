#pragma once

// One query over many keys: each key and value is read once from memory and used once. The keys are
// split into blocks of fixed size, which the threads share. The results of the blocks are merged in
// order, so that the final result is bit-identical for any number of threads.

#include "kernels/attention_row.hpp"

namespace attn::kernels {

template <class Isa>
index part_size(const AttentionHead& head) noexcept {
  return RowScratch<Isa>::sums_size(head);
}

template <class Isa>
void attend_part(const AttentionHead& head, index row, index key_begin, index key_end, float* part,
                 float* memory) noexcept {
  const RowScratch<Isa> scratch(head, memory);
  const RowSums sums = RowScratch<Isa>::sums_at(head, part);
  prepare_row<Isa>(head, row, scratch);
  begin_row<Isa>(head, kMinusInfinity, sums);
  add_keys<Isa>(head, row, key_begin, key_end, false, scratch, sums);
  if (is_finite<Isa>(sums.accumulator, head.value_dim)) return;
  // Starts again with zeros in place of excluded values, because a weight of zero may have been
  // multiplied by an excluded infinity or NaN.
  begin_row<Isa>(head, kMinusInfinity, sums);
  add_keys<Isa>(head, row, key_begin, key_end, true, scratch, sums);
}

/// Merges the parts of a query in order, then writes its results and the stages of its scores.
template <class Isa>
void merge_parts(const AttentionHead& head, index row, const float* parts, index num_parts,
                 const ScoreOutput* outputs, int num_outputs, float* memory) noexcept {
  const RowScratch<Isa> scratch(head, memory);
  const RowSums& sums = scratch.sums;
  begin_row<Isa>(head, head.sink, sums);
  for (index p = 0; p < num_parts; ++p) {
    const RowSums part = RowScratch<Isa>::sums_at(
        head, const_cast<float*>(parts) + p * RowScratch<Isa>::sums_size(head));
    const float old_max = *sums.row_max;
    const float new_max = std::max(old_max, *part.row_max);
    const float ours = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    const float theirs = new_max == *part.row_max ? 1.0F : exp_scalar<Isa>(*part.row_max - new_max);
    const auto merge = [&](float* to, const float* from, index count) {
      for (index i = 0; i < count; ++i) to[i] = to[i] * ours + from[i] * theirs;
    };
    *sums.row_max = new_max;
    merge(sums.row_sum, part.row_sum, 1);
    merge(sums.accumulator, part.accumulator, value_cols<Isa>(head));
    if (sums.distance_weights)
      merge(sums.distance_weights, part.distance_weights, 2 * head.max_distance + 1);
  }
  finish_row<Isa>(head, row, sums);
  if (num_outputs == 0) return;
  prepare_row<Isa>(head, row, scratch);
  for (int i = 0; i < num_outputs; ++i) write_row<Isa>(head, row, outputs[i], scratch, sums);
}

}  // namespace attn::kernels
