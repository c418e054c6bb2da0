#pragma once

// The terms of Shaw's relative keys and values in attention's backward pass.

#include <algorithm>

#include "kernels/training/attention_gradient_block.hpp"

namespace attn::kernels {

/// products_rc = query_r · row_c, where row_c is a row of a Shaw table.
template <class Isa>
void GradientBlock<Isa>::multiply_relative(const float* table, index row, index depth,
                                           const float* queries, float* products) noexcept {
  multiply_queries<Isa>(num_distances_, depth, table, row, queries, 0, lanes_, scratch_.columns);
  transpose<Isa>(num_distances_, count_, {scratch_.columns, kBlockQueries}, 1.0F,
                 {products, scratch_.relative_row});
}

/// True if query r attends to any key of the block that uses row `distance` of the Shaw tables.
template <class Isa>
bool GradientBlock<Isa>::attends_at(index r, index distance) const noexcept {
  const index row = first_ + r;
  const index key = row + head_.relative_offset + distance - head_.max_distance;
  const index begin = distance == 0 ? key_begin_ : std::max(key, key_begin_);
  const index end = distance == num_distances_ - 1 ? key_end_ : std::min(key + 1, key_end_);
  for (index j = begin; j < end; ++j) {
    if (is_attended<Isa>(head_, row, j)) return true;
  }
  return false;
}

/// Adds the terms of Shaw's keys and values to the gradients. Computes these terms from dS and the
/// weights, which are already summed per distance. If an operand is not finite, the products of a
/// query skip the distances at which the query attends to no key.
template <class Isa>
void GradientBlock<Isa>::add_relative_products(float* query_gradients) noexcept {
  const auto transposed = [&](const float* sums) {
    transpose<Isa>(count_, num_distances_, {sums, scratch_.relative_row}, 1.0F,
                   {scratch_.columns, kBlockQueries});
    return scratch_.columns;
  };
  float* const attended = scratch_.attended_rows;
  const auto add_to_table = [&](const float* sums, const float* rows, index row, float* table) {
    if (is_finite_) return sum_over_queries<Isa>(num_distances_, count_, sums, rows, row, table);
    for (index c = 0; c < num_distances_; ++c) {
      for (index r = 0; r < count_; ++r) {
        copy_or_clear(rows + r * row, row, attends_at(r, c), attended + r * row);
      }
      sum_over_queries<Isa>(1, count_, sums + c * kBlockQueries, attended, row, table + c * row);
    }
  };
  if (steps_.relative_keys) {
    const float* sums = transposed(scratch_.key_distance_sums);
    if (is_finite_ && gradient_.relative_keys_are_finite) {
      sum_over_keys<Isa>(count_, num_distances_, sums, gradient_.relative_keys, key_row_,
                         query_gradients);
    } else {
      for (index r = 0; r < count_; ++r) {
        for (index c = 0; c < num_distances_; ++c) {
          copy_or_clear(gradient_.relative_keys + c * key_row_, key_row_, attends_at(r, c),
                        attended + c * key_row_);
        }
        sum_over_keys<Isa>(1, num_distances_, sums + r, attended, key_row_,
                           query_gradients + r * key_row_);
      }
    }
    if (gradient_.relative_key_gradients) {
      add_to_table(sums, scratch_.query_rows, key_row_, gradient_.relative_key_gradients);
    }
  }
  if (steps_.relative_values && gradient_.relative_value_gradients) {
    add_to_table(transposed(scratch_.value_distance_sums), scratch_.output_gradient_rows,
                 value_row_, gradient_.relative_value_gradients);
  }
}

}  // namespace attn::kernels
