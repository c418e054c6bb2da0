#pragma once

// Processes a block of queries with a chunk of keys, tile by tile, including every attention option
// that acts on scores.

#include <algorithm>
#include <cmath>

#include "kernels/training/attention_gradient_tile.hpp"

namespace attn::kernels {

/// The state of a block of queries while a chunk of keys is processed.
template <class Isa>
class GradientBlock {
 public:
  GradientBlock(const AttentionHead& head, const AttentionGradientHead& gradient, index first,
                index count, const KeyChunk& chunk, float* memory) noexcept
      : head_(head),
        gradient_(gradient),
        chunk_(chunk),
        first_(first),
        count_(count),
        lanes_(round_up(count, kWidth<Isa>)),
        key_row_(padded_row<Isa>(head.head_dim)),
        value_row_(padded_row<Isa>(head.value_dim)),
        num_distances_(2 * head.max_distance + 1),
        steps_(head, gradient),
        scratch_(head, memory) {}

  bool backpropagate(float* query_gradients) noexcept;

 private:
  /// Returns whether the queries of a tile may attend to none, some or all of the keys [key0, key0
  /// + keys).
  Coverage cover(index key0, index keys) const noexcept {
    return find_coverage<Isa>(head_, first_ + first_lane_, count_ - first_lane_, key0, keys);
  }
  bool find_keys() noexcept;
  index begin_tile(index key0) noexcept;
  void load_queries() noexcept;
  void multiply_relative(const float* table, index row, index depth, const float* queries,
                         float* products) noexcept;
  void score_tile(index key0, index keys) noexcept;
  void differentiate_weights(index key0, index keys) noexcept;
  void store_weight_gradients(index key0, index keys) noexcept;
  void backpropagate_scores(index key0, index keys) noexcept;
  void add_products(index key0, index keys, float* query_gradients) noexcept;
  void add_attended_products(index key0, index keys, float* query_gradients) noexcept;
  bool attends_at(index r, index distance) const noexcept;
  void add_relative_products(float* query_gradients) noexcept;

  const AttentionHead& head_;
  const AttentionGradientHead& gradient_;
  const KeyChunk& chunk_;
  index first_, count_, lanes_;
  index first_lane_ = 0;  ///< first query that attends to a tile; a multiple of kGradientGroup
  index key_row_, value_row_, num_distances_;
  index key_begin_ = 0, key_end_ = 0;
  bool is_finite_ = true;
  GradientSteps<Isa> steps_;
  GradientScratch<Isa> scratch_;
};

/// Finds the keys of the chunk that any of the queries may attend to.
template <class Isa>
bool GradientBlock<Isa>::find_keys() noexcept {
  if (cover(chunk_.key_begin, chunk_.key_end - chunk_.key_begin) == Coverage::kNone) return false;
  key_begin_ = chunk_.key_end;
  key_end_ = chunk_.key_begin;
  for (index r = 0; r < lanes_; ++r) {
    const bool real = r < count_;
    const index row = first_ + r;
    const float lse = real ? gradient_.log_sum_exp[row] : kMinusInfinity;
    scratch_.log_sum_exp[r] = lse == kMinusInfinity ? 0.0F : lse * kLog2E;
    scratch_.delta[r] = real ? gradient_.delta[row] : 0.0F;
    if (!real || head_.key_begin[row] >= head_.key_end[row]) continue;
    key_begin_ = std::min<index>(key_begin_, head_.key_begin[row]);
    key_end_ = std::max<index>(key_end_, head_.key_end[row]);
  }
  key_begin_ = std::max(key_begin_ / kGradientTile * kGradientTile, chunk_.key_begin);
  key_end_ = std::min(key_end_, chunk_.key_end);
  return key_begin_ < key_end_;
}

/// Returns the number of keys in the tile that begins at `key0`, and finds its first query. Along
/// the causal diagonal, a tile ends at the last key of a group of queries, and later tiles skip
/// that group.
template <class Isa>
index GradientBlock<Isa>::begin_tile(index key0) noexcept {
  index keys = std::min(kGradientTile - key0 % kGradientTile, key_end_ - key0);
  first_lane_ = 0;
  if (!steps_.only_ranges) return keys;
  for (index lane = 0; lane + kGradientGroup < count_; lane += kGradientGroup) {
    const std::int32_t* ends = head_.key_end + first_ + lane;
    const index end = *std::max_element(ends, ends + kGradientGroup);
    if (end > key0) {
      keys = std::min(keys, end - key0);
      break;
    }
    // The division into tiles affects how results are rounded, so it must not depend on whether
    // numbers are finite or on which stages are requested. Only the choice of the queries to skip
    // may depend on these two facts.
    if (is_finite_ && !steps_.shows_tiles) first_lane_ = lane + kGradientGroup;
  }
  return keys;
}

template <class Isa>
void GradientBlock<Isa>::load_queries() noexcept {
  is_finite_ =
      copy_padded<Isa>(count_, head_.head_dim, head_.query.rows_from(first_), scratch_.query_rows);
  is_finite_ &=
      copy_padded<Isa>(count_, head_.value_dim, gradient_.output_gradient.rows_from(first_),
                       scratch_.output_gradient_rows);
  is_finite_ &= chunk_.is_finite;
  const float to_log2 = steps_.in_log2 ? kLog2E : 1.0F;
  transpose<Isa>(count_, head_.head_dim, {scratch_.query_rows, key_row_}, head_.scale * to_log2,
                 {scratch_.queries, kBlockQueries});
  transpose<Isa>(count_, head_.value_dim, {scratch_.output_gradient_rows, value_row_}, 1.0F,
                 {scratch_.output_gradients, kBlockQueries});
  const auto clear_padding = [&](float* columns, index depth) {
    for (index d = 0; d < depth; ++d) {
      std::fill(columns + d * kBlockQueries + count_, columns + d * kBlockQueries + lanes_, 0.0F);
    }
  };
  clear_padding(scratch_.queries, head_.head_dim);
  clear_padding(scratch_.output_gradients, head_.value_dim);
}

/// Computes scores in units of ln 2, with −∞ for excluded scores, and the dropout factors.
template <class Isa>
void GradientBlock<Isa>::score_tile(index key0, index keys) noexcept {
  using F = Floats<Isa>;
  const index j = key0 - chunk_.key_begin;
  multiply_queries<Isa>(keys, head_.head_dim, chunk_.keys + j * key_row_, key_row_,
                        scratch_.queries, first_lane_, lanes_, scratch_.weights);
  if (steps_.scores_by_row) {
    const float to_log2 = steps_.in_log2 ? 1.0F : kLog2E;
    transform_rows<Isa>(
        keys, count_, scratch_.weights, to_log2, scratch_, [&](index r, float* scores) {
          const index row = first_ + r;
          if (steps_.relative_keys) {
            add_relative_keys<Isa>(head_, row, key0, keys,
                                   scratch_.key_products + r * scratch_.relative_row, scores);
          }
          if (steps_.softcap) {
            cap_scores<Isa>(head_, keys, scores);
            float* slopes = scratch_.slopes + r * kGradientRow;
            for (index k = 0; k < keys; k += kWidth<Isa>) {
              const F capped = divide<Isa>(F::load_unaligned(scores + k), F(head_.softcap));
              (F(1.0F) - capped * capped).store_unaligned(slopes + k);
            }
          }
          bias_scores<Isa>(head_, row, key0, keys, scores);
        });
  }
  if (cover(key0, keys) != Coverage::kAll) {
    exclude_in_tile<Isa>(head_, first_, first_lane_, count_, lanes_, key0, keys, scratch_.weights,
                         kBlockQueries);
  }
  if (steps_.dropout) {
    for (index r = 0; r < count_; ++r) {
      float* factors = scratch_.rows + r * kGradientRow;
      std::fill_n(factors, keys, 1.0F);
      drop_weights<Isa>(head_, first_ + r, key0, keys, factors);
    }
    transpose<Isa>(count_, keys, {scratch_.rows, kGradientRow}, 1.0F,
                   {scratch_.dropout_factors, kBlockQueries});
  }
}

/// Computes dP for the weights before dropout.
template <class Isa>
void GradientBlock<Isa>::differentiate_weights(index key0, index keys) noexcept {
  const index j = key0 - chunk_.key_begin;
  multiply_queries<Isa>(keys, head_.value_dim, chunk_.values + j * value_row_, value_row_,
                        scratch_.output_gradients, first_lane_, lanes_, scratch_.gradients);
  if (steps_.relative_values) {
    transform_rows<Isa>(keys, count_, scratch_.gradients, 1.0F, scratch_, [&](index r, float* row) {
      add_relative_keys<Isa>(head_, first_ + r, key0, keys,
                             scratch_.value_products + r * scratch_.relative_row, row);
    });
  }
  if (steps_.dropout)
    multiply_tile<Isa>(keys, lanes_, scratch_.dropout_factors, scratch_.gradients);
}

/// Stores dP where scores are not excluded; the rest of the output is already zero.
template <class Isa>
void GradientBlock<Isa>::store_weight_gradients(index key0, index keys) noexcept {
  for (index r = 0; r < count_; ++r) {
    float* weights = gradient_.weights.at(first_ + r, key0);
    for (index k = 0; k < keys; ++k) {
      if (scratch_.weights[k * kBlockQueries + r] == kMinusInfinity) continue;
      weights[k * gradient_.weights.col] = scratch_.gradients[k * kBlockQueries + r];
    }
  }
}

/// Turns gradients of biased scores into gradients of scale · q·k.
template <class Isa>
void GradientBlock<Isa>::backpropagate_scores(index key0, index keys) noexcept {
  transform_rows<Isa>(
      keys, count_, scratch_.gradients, 1.0F, scratch_, [&](index r, float* gradients) {
        const index row = first_ + r;
        if (gradient_.scores) {
          float* scores = gradient_.scores.at(row, key0);
          for (index k = 0; k < keys; ++k) scores[k * gradient_.scores.col] += gradients[k];
        }
        if (gradient_.bias) {
          float* bias = gradient_.bias.at(row, key0);
          const index within = std::clamp<index>(head_.bias_cols - key0, 0, keys);
          for (index k = 0; k < within; ++k) bias[k * gradient_.bias.col] += gradients[k];
        }
        if (gradient_.distance_bias) {
          float* distance_bias = gradient_.distance_bias + key0 - row;
          for (index k = 0; k < keys; ++k) distance_bias[k] += gradients[k];
        }
        if (steps_.softcap) {
          const float* slopes = scratch_.slopes + r * kGradientRow;
          for (index k = 0; k < keys; ++k) {
            // The slope of a score that is not finite may be NaN, even if the key
            // is excluded.
            gradients[k] = gradients[k] == 0.0F ? 0.0F : gradients[k] * slopes[k];
          }
        }
        if (steps_.relative_keys) {
          sum_by_distance<Isa>(head_, row, key0, keys, gradients,
                               scratch_.key_distance_sums + r * scratch_.relative_row);
        }
      });
}

template <class Isa>
void GradientBlock<Isa>::add_products(index key0, index keys, float* query_gradients) noexcept {
  const index j = key0 - chunk_.key_begin;
  const index first = first_lane_;
  const index count = count_ - first;
  sum_over_queries<Isa>(keys, count, scratch_.weights + first,
                        scratch_.output_gradient_rows + first * value_row_, value_row_,
                        chunk_.value_gradients + j * value_row_);
  sum_over_queries<Isa>(keys, count, scratch_.gradients + first,
                        scratch_.query_rows + first * key_row_, key_row_,
                        chunk_.key_gradients + j * key_row_);
  sum_over_keys<Isa>(count, keys, scratch_.gradients + first, chunk_.keys + j * key_row_, key_row_,
                     query_gradients + first * key_row_);
}

/// Copies a row if it is attended to, else writes zeros.
inline void copy_or_clear(const float* row, index size, bool attended, float* to) noexcept {
  if (attended) {
    std::copy_n(row, size, to);
  } else {
    std::fill_n(to, size, 0.0F);
  }
}

/// Adds the products of a tile if an operand is not finite. Zeros replace the excluded rows, so NaN
/// and infinity in these rows do not change any bit of the results.
template <class Isa>
void GradientBlock<Isa>::add_attended_products(index key0, index keys,
                                               float* query_gradients) noexcept {
  const index chunk_key = key0 - chunk_.key_begin;
  // The rows of a tile, with zeros in place of excluded rows.
  float* const attended = scratch_.attended_rows;
  for (index r = 0; r < count_; ++r) {
    for (index j = 0; j < keys; ++j) {
      copy_or_clear(chunk_.keys + (chunk_key + j) * key_row_, key_row_,
                    is_attended<Isa>(head_, first_ + r, key0 + j), attended + j * key_row_);
    }
    sum_over_keys<Isa>(1, keys, scratch_.gradients + r, attended, key_row_,
                       query_gradients + r * key_row_);
  }
  for (index j = 0; j < keys; ++j) {
    const auto sum = [&](const float* tile, const float* rows, index row, float* gradients) {
      for (index r = 0; r < count_; ++r) {
        copy_or_clear(rows + r * row, row, is_attended<Isa>(head_, first_ + r, key0 + j),
                      attended + r * row);
      }
      sum_over_queries<Isa>(1, count_, tile + j * kBlockQueries, attended, row,
                            gradients + (chunk_key + j) * row);
    };
    sum(scratch_.weights, scratch_.output_gradient_rows, value_row_, chunk_.value_gradients);
    sum(scratch_.gradients, scratch_.query_rows, key_row_, chunk_.key_gradients);
  }
}

}  // namespace attn::kernels
