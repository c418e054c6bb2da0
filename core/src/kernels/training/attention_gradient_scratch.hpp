#pragma once

// The memory that attention's backward pass uses while a block of queries processes a chunk of
// keys.

#include <algorithm>

#include "kernels/attention_scratch.hpp"
#include "kernels/training/attention_gradient_args.hpp"

namespace attn::kernels {

/// Number of keys in a tile.
inline constexpr index kGradientTile = 64;

template <class Isa>
index padded_row(index dim) noexcept {
  return round_up(dim, kWidth<Isa>);
}

/// Tiles skip queries in groups of this size, which is at least the vector width of every
/// instruction set.
inline constexpr index kGradientGroup = 16;

/// Row stride, in floats, of a tile that is transposed to (queries × keys).
inline constexpr index kGradientRow = kGradientTile + kPanelWidth;

/// The steps that a call needs between a score and its weight, except scale and exclusion.
template <class Isa>
struct GradientSteps {
  explicit GradientSteps(const AttentionHead& head, const AttentionGradientHead& gradient) noexcept
      : softcap(head.softcap > 0),
        relative_keys(gradient.relative_keys != nullptr),
        relative_values(head.relative_values != nullptr),
        in_log2(!softcap && !relative_keys && !head.bias && !head.distance_bias),
        scores_by_row(!in_log2),
        dropout(head.random_words != nullptr),
        gradients_by_row(softcap || relative_keys || gradient.scores || gradient.bias ||
                         gradient.distance_bias),
        only_ranges(!scores_by_row && !head.mask && !relative_values && !dropout),
        shows_tiles(gradient.scores || gradient.weights) {}

  bool softcap;
  bool relative_keys;
  bool relative_values;
  bool in_log2;        ///< true if log2 e is folded into the queries
  bool scores_by_row;  ///< true if some steps process the scores of one query at a time
  bool dropout;
  bool gradients_by_row;  ///< true if some steps process the score gradients of one query at a time
  bool only_ranges;       ///< true if key ranges are the only exclusions and nothing else
                          ///< changes the weights
  bool shows_tiles;       ///< true if the caller wants the gradients of the scores or of the
                          ///< weights
};

/// The scratch memory of one block of queries.
template <class Isa>
struct GradientScratch {
  static index size(const AttentionHead& head) noexcept {
    GradientScratch scratch;
    scratch.lay_out(head, nullptr);
    return scratch.floats;
  }

  GradientScratch() = default;
  GradientScratch(const AttentionHead& head, float* memory) noexcept { lay_out(head, memory); }

  void lay_out(const AttentionHead& head, float* memory) noexcept {
    const auto take = [&](float*& part, index count) {
      part = memory ? memory + floats : nullptr;
      floats += kBlockQueries * count;
    };
    const index relative = round_up(2 * head.max_distance + 1, kPanelWidth) + kPanelWidth;
    take(weights, kGradientTile);
    take(gradients, kGradientTile);
    take(dropout_factors, kGradientTile);
    take(rows, kGradientRow);
    take(slopes, kGradientRow);
    take(queries, head.head_dim);
    take(output_gradients, head.value_dim);
    take(query_rows, padded_row<Isa>(head.head_dim));
    take(output_gradient_rows, padded_row<Isa>(head.value_dim));
    take(log_sum_exp, 1);
    take(delta, 1);
    relative_row = relative;
    take(key_products, relative);
    take(value_products, relative);
    take(key_distance_sums, relative);
    take(value_distance_sums, relative);
    take(columns, relative);
    const index widest = std::max(padded_row<Isa>(head.head_dim), padded_row<Isa>(head.value_dim));
    attended_rows = memory ? memory + floats : nullptr;
    floats += std::max({kGradientTile, kBlockQueries, 2 * head.max_distance + 1}) * widest;
  }

  float* weights = nullptr;    ///< kGradientTile × kBlockQueries: scores, then weights
  float* gradients = nullptr;  ///< kGradientTile × kBlockQueries: dP, then dS
  float* dropout_factors =
      nullptr;               ///< kGradientTile × kBlockQueries: dropout's factors on weights
  float* rows = nullptr;     ///< kBlockQueries × kGradientRow: a tile, transposed
  float* slopes = nullptr;   ///< kBlockQueries × kGradientRow: the derivative of the softcap
  float* queries = nullptr;  ///< head_dim × kBlockQueries, scaled
  float* output_gradients = nullptr;      ///< value_dim × kBlockQueries
  float* query_rows = nullptr;            ///< kBlockQueries × padded_row(head_dim)
  float* output_gradient_rows = nullptr;  ///< kBlockQueries × padded_row(value_dim)
  float* log_sum_exp = nullptr;  ///< log-sum-exp of each query, in units of ln 2; 0 for a query
                                 ///< without keys
  float* delta = nullptr;        ///< per query
  // Arrays for Shaw's distances, each kBlockQueries × relative_row.
  index relative_row = 0;
  float* key_products = nullptr;         ///< scale · q·a_c
  float* value_products = nullptr;       ///< dO·b_c
  float* key_distance_sums = nullptr;    ///< sums of dS for each distance
  float* value_distance_sums = nullptr;  ///< sums of weights for each distance
  float* columns = nullptr;              ///< one of the arrays above, transposed: relative_row ×
                                         ///< kBlockQueries
  float* attended_rows = nullptr;  ///< rows of keys, queries or distances, padded to whole vectors
  index floats = 0;
};

}  // namespace attn::kernels
