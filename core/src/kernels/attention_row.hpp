#pragma once

// One query against blocks of keys, along a row of scores: for a single query over a long cache,
// which reads every key once and so gains nothing from tiles, and for rows that tiles cannot do,
// because something in them is not finite. Only a running maximum, a running sum and an
// unnormalised output are carried from block to block (Milakov & Gimelshein 2018,
// arXiv:1805.02867).

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/attention_scores.hpp"
#include "kernels/elements.hpp"
#include "kernels/logarithm.hpp"
#include "kernels/product_tile.hpp"

namespace attn::kernels {

template <class Isa>
ATTN_INLINE index value_cols(const AttentionHead& head) noexcept {
  return round_up(head.value_dim, kLanes<Isa>);
}
/// Columns of the Shaw tables, in whole micro-kernel tiles.
template <class Isa>
ATTN_INLINE index relative_cols(const AttentionHead& head) noexcept {
  return round_up(2 * head.max_distance + 1, Isa::kVectors * kWidth<Isa>);
}

/// What a query has gathered from the keys so far.
struct RowSums {
  float* row_max;
  float* row_sum;
  float* values;     ///< value columns: unnormalised output
  float* distances;  ///< relative columns: weights per clipped distance, or null
};

/// The scratch memory of one query.
template <class Isa>
class RowScratch {
 public:
  static index size(const AttentionHead& head) noexcept {
    return 2 * round_up(head.head_dim, kPanelWidth) + kKeyTile + kPanelWidth + kept_size(head) +
           sums_size(head) + (head.packed_relative_keys ? relative_cols<Isa>(head) : 0);
  }
  /// Floats of a block of values, or of keys.
  static index kept_size(const AttentionHead& head) noexcept {
    return kKeyTile * std::max(value_cols<Isa>(head), round_up(head.head_dim, kWidth<Isa>));
  }
  /// Floats that RowSums takes.
  static index sums_size(const AttentionHead& head) noexcept {
    return round_up(
        2 + value_cols<Isa>(head) + (head.relative_values ? relative_cols<Isa>(head) : 0),
        kPanelWidth);
  }
  static RowSums sums_at(const AttentionHead& head, float* memory) noexcept {
    return {memory, memory + 1, memory + 2,
            head.relative_values ? memory + 2 + value_cols<Isa>(head) : nullptr};
  }

  RowScratch(const AttentionHead& head, float* memory) noexcept : query(memory) {
    scaled_again = query + round_up(head.head_dim, kPanelWidth);
    scores = scaled_again + round_up(head.head_dim, kPanelWidth);
    kept = scores + kKeyTile + kPanelWidth;
    sums = sums_at(head, kept + kept_size(head));
    relative_products = head.packed_relative_keys ? sums.row_max + sums_size(head) : nullptr;
  }

  float* query;         ///< scaled
  float* scaled_again;  ///< the query, by kPairScale
  float* scores;        ///< of one block of keys
  float* kept;          ///< of one block: values, or keys as floats
  RowSums sums;
  float* relative_products;  ///< of the query with the Shaw table, or null
};

/// Scales the query, and multiplies it with the Shaw table.
template <class Isa>
void prepare_row(const AttentionHead& head, index row, const RowScratch<Isa>& scratch) noexcept {
  const float* source = head.query + row * head.query_row;
  for (index d = 0; d < head.head_dim; ++d) {
    scratch.query[d] = head.scale * source[d * head.query_col];
  }
  if (!scratch.relative_products) return;
  for (index c = 0; c <= 2 * head.max_distance; ++c) {
    const float* column = packed_column<Isa>(head.packed_relative_keys, head.head_dim, c);
    float sum = 0.0F;
    for (index d = 0; d < head.head_dim; ++d) sum += scratch.query[d] * column[d * kPanelWidth];
    scratch.relative_products[c] = sum;
  }
}

/// No key yet, only an extra score, which may be −∞ for none.
template <class Isa>
void begin_row(const AttentionHead& head, float extra, const RowSums& sums) noexcept {
  *sums.row_max = extra;
  *sums.row_sum = extra == kMinusInfinity ? 0.0F : 1.0F;
  std::fill_n(sums.values, value_cols<Isa>(head), 0.0F);
  if (sums.distances) std::fill_n(sums.distances, relative_cols<Isa>(head), 0.0F);
}

/// Whether numbers of a type are loaded as two vectors at once.
template <class Isa, class T>
inline constexpr bool kLoadsPairs =
    requires(const T* from, typename Isa::Seen& seen) { Isa::load_pair(from, seen); };
/// What those are to be multiplied with, by way of what they meet in products: exact.
template <class T>
inline constexpr float kPairScale = std::is_same_v<T, Float16> ? 0x1p112F : 1.0F;
template <class Isa, class T>
inline constexpr bool kLoadsScaled = kLoadsPairs<Isa, T> && kPairScale<T> != 1.0F;
/// Of numbers whose products with that stay far from infinity.
inline constexpr float kLargestScaled = 0x1p14F;

template <class Isa, class T>
ATTN_INLINE auto nothing_seen() noexcept {
  if constexpr (kLoadsPairs<Isa, T>) {
    return Isa::nothing_seen();
  } else {
    return 0;
  }
}
/// Whether everything seen was what such loads are for.
template <class Isa, class T, class Seen>
ATTN_INLINE bool in_range(const Seen& seen) noexcept {
  if constexpr (kLoadsScaled<Isa, T>) {
    return Isa::in_range(seen);
  } else {
    return true;
  }
}

/// Whether rows of stored numbers are read as they lie there, and not as floats that were made of
/// them: first row and what they meet. Where they are loaded as pairs, and code is to be small,
/// they have to be whole groups of so many vectors.
template <class Isa, class T>
ATTN_INLINE bool reads_stored(const T* row, index row_size, index group, const float* others,
                              index count) noexcept {
  if constexpr (kLoadsPairs<Isa, T>) {
    if (row_size % (group * kWidth<Isa>) != 0) return false;
  }
  if constexpr (kLoadsScaled<Isa, T>) {
    using F = Floats<Isa>;
    F largest(0.0F);
    index i = 0;
    for (; i + kWidth<Isa> <= count; i += kWidth<Isa>) {
      largest = xsimd::max(largest, xsimd::abs(F::load_unaligned(others + i)));
    }
    float most = xsimd::reduce_max(largest);
    for (; i < count; ++i) most = std::max(most, std::abs(others[i]));
    return most <= kLargestScaled && Isa::is_mostly_normal(row, row_size);
  }
  return true;
}

template <class Isa>
inline constexpr bool kHasSumLanes =
    requires(const Floats<Isa> (&x)[kWidth<Isa>]) { Isa::sum_lanes(x); };

/// scores_j = q · k_j. Keys are read in the order in which they lie in memory and fetched ahead:
/// processors do so by themselves, but not beyond a page, which is 16 keys of 64 floats, and not
/// where many rows are read by turns. `scaled` is room for the query. False where scores have to be
/// computed from floats.
template <class Isa, class T>
__attribute__((noinline)) bool dot_rows(index depth, const float* query, const T* key,
                                        index key_row, index keys, float* scores,
                                        float* scaled) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  /// A narrow vector of the query serves several keys; and floats are too slow to come for a sum
  /// of long vectors to take time.
  constexpr bool kGroup = kHasSumLanes<Isa> && (kW < kPanelWidth || !std::is_same_v<T, float>);
  constexpr int kKeys = kGroup ? kW : kW < kPanelWidth ? 4 : 1;
  /// Where keys are contiguous: 8 KB of floats.
  constexpr index kAhead = 2048;
  /// A cache line.
  constexpr auto kLine = static_cast<index>(64 / sizeof(T));
  const index whole = depth / kW * kW;
  const index ahead = kAhead / std::max(depth, kPanelWidth) * key_row;
  if (!reads_stored<Isa>(key, depth, 2, query, depth)) return false;
  if constexpr (kLoadsScaled<Isa, T>) {
    for (index d = 0; d < whole; d += kW) {
      (F::load_unaligned(query + d) * F(kPairScale<T>)).store_unaligned(scaled + d);
    }
  }
  [[maybe_unused]] auto seen = nothing_seen<Isa, T>();
  for (index j = 0; j < keys; j += kKeys) {
    const T* rows[kKeys];
    F sums[kKeys];
    const auto each_row = [](auto&& body) __attribute__((always_inline)) { unroll<kKeys>(body); };
    // Beyond the last key the last one is read again; its scores are not used.
    each_row([&](auto i) __attribute__((always_inline)) {
      rows[i] = key + std::min<index>(j + i, keys - 1) * key_row;
      sums[i] = F(0.0F);
      for (index d = 0; d < whole; d += kLine) __builtin_prefetch(rows[i] + ahead + d);
    });
    index d = 0;
    // Of bfloat16, four at a time are faster here.
    if constexpr (kLoadsPairs<Isa, T> && !std::is_same_v<T, BFloat16>) {
      const float* const by = kPairScale<T> == 1.0F ? query : scaled;
      const auto multiply = [&](index at) __attribute__((always_inline)) {
        const F low = F::load_unaligned(by + at);
        const F high = F::load_unaligned(by + at + kW);
        each_row([&](auto i) __attribute__((always_inline)) {
          const auto pair = Isa::load_pair(rows[i] + at, seen);
          sums[i] = Isa::madd(high, pair.high, Isa::madd(low, pair.low, sums[i]));
        });
      };
      for (; d + 2 * kW <= whole; d += 2 * kW) multiply(d);
    }
    if constexpr (!kLoadsPairs<Isa, T> || std::is_same_v<T, BFloat16>) {
      for (; d < whole; d += kW) {
        const F q = F::load_unaligned(query + d);
        each_row([&](auto i) __attribute__((always_inline)) {
          sums[i] = Isa::madd(q, load<Isa>(rows[i] + d), sums[i]);
        });
      }
    }
    if constexpr (kGroup) {
      Isa::sum_lanes(sums).store_unaligned(scores + j);
    } else {
      each_row([&](auto i)
                   __attribute__((always_inline)) { scores[j + i] = xsimd::reduce_add(sums[i]); });
    }
    if constexpr (kLoadsPairs<Isa, T>) continue;
    for (index i = 0; whole < depth && i < kKeys; ++i) {
      const float* rest = nullptr;
      [[maybe_unused]] float widened[kW];
      if constexpr (std::is_same_v<T, float>) {
        rest = rows[i] + whole;
      } else {
        load_part<Isa>(rows[i] + whole, 1, depth - whole).store_unaligned(widened);
        rest = widened;
      }
      for (index k = whole; k < depth; ++k) scores[j + i] += query[k] * rest[k - whole];
    }
  }
  return in_range<Isa, T>(seen);
}

/// Some stored rows, of int8 without their scales, as floats with zeros up to padded_cols.
template <class Isa>
void widen_rows(const StoredRows& rows, index first, index count, index cols, index padded_cols,
                float* to) noexcept {
  WidenArgs p;
  p.rows = count;
  p.cols = cols;
  p.padded_cols = p.to_row = padded_cols;
  p.from = {rows.type, row_at(rows, first), rows.row, nullptr, 0};
  p.to = to;
  widen<Isa>(p);
}

/// scores_j = q · k_j for keys from key0 on.
template <class Isa>
void dot_keys(const AttentionHead& head, const RowScratch<Isa>& scratch, index key0, index keys,
              float* scores) noexcept {
  const StoredRows& rows = head.stored_key;
  bool done = false;
  with_type(rows.type, rows.data, [&](const auto* key) __attribute__((always_inline)) {
    done = dot_rows<Isa>(head.head_dim, scratch.query, key + key0 * rows.row, rows.row, keys,
                         scores, scratch.scaled_again);
  });
  if (!done) {
    const index cols = round_up(head.head_dim, kWidth<Isa>);
    widen_rows<Isa>(rows, key0, keys, head.head_dim, cols, scratch.kept);
    const float* const widened = scratch.kept;
    dot_rows<Isa>(head.head_dim, scratch.query, widened, cols, keys, scores, nullptr);
  }
  if (!rows.scales) return;
  const float* scales = rows.scales + key0 * rows.scale_row;
  for (index j = 0; j < keys; ++j) scores[j] *= scales[j * rows.scale_row];
}

/// The block of values with the rows set to zero that query `row` may not attend to; of int8
/// without their scales.
template <class Isa>
void keep_attended(const AttentionHead& head, index row, index key0, index keys,
                   float* kept) noexcept {
  const index cols = value_cols<Isa>(head);
  for (index j = 0; j < keys; ++j) {
    const index count = is_attended<Isa>(head, row, key0 + j) ? head.value_dim : 0;
    widen_rows<Isa>(head.stored_value, key0 + j, 1, count, cols, kept + j * cols);
  }
}

/// The same of floats, by the micro-kernel of products.
template <class Isa>
void add_weighted_rows(index keys, const float* weights, const float* value, index value_row,
                       index cols, float factor, float* sums) noexcept {
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = 4;
  index col = 0;
  for (; col + kVectors * kW <= cols; col += kVectors * kW) {
    const float* b[kVectors];
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) { b[v] = value + col + v * kW; });
    product_rows<Isa, 1, kVectors, TileFinish::kScaleAdd, kAnyStride, 1>(
        1, keys, weights, 0, b, value_row, sums + col, cols, &factor);
  }
  for (; col < cols; col += kW) {
    const float* b[1] = {value + col};
    product_rows<Isa, 1, 1, TileFinish::kScaleAdd, kAnyStride, 1>(1, keys, weights, 0, b, value_row,
                                                                  sums + col, cols, &factor);
  }
}

/// partial += Σ_j weight_j · v_j for Vectors vectors of columns, in the order of keys.
template <class Isa, int Vectors, class T, class Seen>
ATTN_INLINE void add_weighted_columns(index keys, const float* weights, const T* value,
                                      index value_row, float* partial,
                                      [[maybe_unused]] Seen& seen) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const auto stride = static_cast<std::ptrdiff_t>(value_row);
  F sum[Vectors];
  unroll<Vectors>(
      [&](auto v) __attribute__((always_inline)) { sum[v] = F::load_unaligned(partial + v * kW); });
  for (index j = 0; j < keys; ++j, value += stride) {
    if constexpr (kLoadsPairs<Isa, T> && Vectors % 2 == 0) {
      const F weight(kPairScale<T> * weights[j]);
      unroll<Vectors / 2>([&](auto v) __attribute__((always_inline)) {
        const auto pair = Isa::load_pair(value + 2 * v * kW, seen);
        sum[2 * v] = Isa::madd(weight, pair.low, sum[2 * v]);
        sum[2 * v + 1] = Isa::madd(weight, pair.high, sum[2 * v + 1]);
      });
    } else {
      const F weight(weights[j]);
      unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
        sum[v] = Isa::madd(weight, load<Isa>(value + v * kW), sum[v]);
      });
    }
  }
  unroll<Vectors>([&](auto v)
                      __attribute__((always_inline)) { sum[v].store_unaligned(partial + v * kW); });
}

/// `partial` is room for a row.
template <class Isa, class T>
__attribute__((noinline)) void add_weighted_rows(index keys, const float* weights, const T* value,
                                                 index value_row, index cols, float factor,
                                                 float* partial, float* sums) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = 8;
  /// Vectors of four pass over the columns several times: over few rows, so that those are read
  /// from memory as they lie there.
  constexpr index kGroup = kW == 4 ? 16 : kKeyTile;
  [[maybe_unused]] auto seen = nothing_seen<Isa, T>();
  std::fill_n(partial, cols, 0.0F);
  for (index j = 0; j < keys; j += kGroup) {
    const auto add = [&](auto vectors, index col) __attribute__((always_inline)) {
      add_weighted_columns<Isa, vectors>(std::min(kGroup, keys - j), weights + j,
                                         value + j * value_row + col, value_row, partial + col,
                                         seen);
    };
    index col = 0;
    for (; col + kVectors * kW <= cols; col += kVectors * kW) {
      add(std::integral_constant<int, kVectors>{}, col);
    }
    for (; col + 4 * kW <= cols; col += 4 * kW) add(std::integral_constant<int, 4>{}, col);
    if constexpr (kLoadsPairs<Isa, T>) continue;
    for (; col < cols; col += kW) add(std::integral_constant<int, 1>{}, col);
  }
  for (index col = 0; col < cols; col += kW) {
    Isa::madd(F::load_unaligned(sums + col), F(factor), F::load_unaligned(partial + col))
        .store_unaligned(sums + col);
  }
  // The keys are then added anew, from floats.
  if (!in_range<Isa, T>(seen)) {
    sums[0] = std::numeric_limits<float>::quiet_NaN();
  }
}

/// sums = sums · factor + Σ_j weight_j · v_j for one block of keys. Scales go into the weights;
/// with `skip_excluded` values of excluded keys are not even multiplied by zero, and `kept_values`
/// is where the others go.
template <class Isa>
void add_weighted_values(const AttentionHead& head, index row, index key0, index keys,
                         bool skip_excluded, float* weights, float factor, float* kept_values,
                         float* sums) noexcept {
  const index cols = value_cols<Isa>(head);
  const StoredRows& rows = head.stored_value;
  if (rows.scales) {
    const float* scales = rows.scales + key0 * rows.scale_row;
    for (index j = 0; j < keys; ++j) {
      const bool skip = skip_excluded && !is_attended<Isa>(head, row, key0 + j);
      weights[j] = skip ? 0.0F : weights[j] * scales[j * rows.scale_row];
    }
  }
  const auto add_kept = [&] {
    keep_attended<Isa>(head, row, key0, keys, kept_values);
    add_weighted_rows<Isa>(keys, weights, kept_values, cols, cols, factor, sums);
  };
  if (skip_excluded) return add_kept();
  with_type(rows.type, rows.data, [&](const auto* value) __attribute__((always_inline)) {
    const auto* first = value + key0 * rows.row;
    if constexpr (std::is_same_v<decltype(value), const float*>) {
      add_weighted_rows<Isa>(keys, weights, first, rows.row, cols, factor, sums);
    } else {
      if (!reads_stored<Isa>(first, cols, 4, weights, keys)) return add_kept();
      add_weighted_rows<Isa>(keys, weights, first, rows.row, cols, factor, kept_values, sums);
    }
  });
}

/// Adds keys [key_begin, key_end), from a multiple of kKeyTile on, to the sums. With
/// `skip_excluded` values of excluded keys are not even multiplied by zero.
template <class Isa>
void add_keys(const AttentionHead& head, index row, index key_begin, index key_end,
              bool skip_excluded, const RowScratch<Isa>& scratch, const RowSums& sums) noexcept {
  for (index key0 = key_begin; key0 < key_end; key0 += kKeyTile) {
    const index keys = std::min(kKeyTile, key_end - key0);
    const index padded_keys = round_up(keys, kWidth<Isa>);
    dot_keys<Isa>(head, scratch, key0, keys, scratch.scores);
    modify_scores<Isa>(head, row, key0, keys, scratch.relative_products, ScoreStage::kWeights,
                       scratch.scores);
    const float old_max = *sums.row_max;
    const float new_max = std::max(old_max, max_of<Isa>(scratch.scores, padded_keys));
    const float sum = exp_all<Isa>(scratch.scores, padded_keys, safe_shift<Isa>(new_max), 1.0F);
    // Equal maxima, −∞ twice included, need no rescaling.
    const float factor = new_max == old_max ? 1.0F : exp_scalar<Isa>(old_max - new_max);
    *sums.row_sum = *sums.row_sum * factor + sum;
    *sums.row_max = new_max;
    if (head.random_words) drop_weights<Isa>(head, row, key0, keys, scratch.scores);
    if (sums.distances) {
      for (index c = 0; c <= 2 * head.max_distance; ++c) sums.distances[c] *= factor;
      add_to_distances<Isa>(head, row, key0, keys, scratch.scores, sums.distances);
    }
    add_weighted_values<Isa>(head, row, key0, keys, skip_excluded, scratch.scores, factor,
                             scratch.kept, sums.values);
  }
}

/// Whether all of x is finite: x − x is 0 for a finite number and NaN otherwise.
template <class Isa>
ATTN_INLINE bool is_finite(const float* x, index count) noexcept {
  using F = Floats<Isa>;
  index c = 0;
  F checks(0.0F);
  for (; c + kWidth<Isa> <= count; c += kWidth<Isa>) {
    const F value = F::load_unaligned(x + c);
    checks += value - value;
  }
  float check = 0.0F;
  for (; c < count; ++c) check += x[c] - x[c];
  return check == 0.0F && xsimd::all(checks == F(0.0F));
}

/// values += Σ_c distances_c · a^V_c.
template <class Isa>
ATTN_INLINE void add_relative_values(const AttentionHead& head, const float* distances,
                                     float* values) noexcept {
  using F = Floats<Isa>;
  const index cols = value_cols<Isa>(head);
  for (index c = 0; c <= 2 * head.max_distance; ++c) {
    const F weight(distances[c]);
    const float* row = head.relative_values + c * cols;
    for (index j = 0; j < cols; j += kWidth<Isa>) {
      Isa::madd(weight, F::load_unaligned(row + j), F::load_unaligned(values + j))
          .store_unaligned(values + j);
    }
  }
}

/// output = factor · values. Returns whether all of it is finite.
template <class Isa>
bool write_output(const AttentionHead& head, index row, const float* values,
                  float factor) noexcept {
  using F = Floats<Isa>;
  float* output = head.output + row * head.output_row;
  index c = 0;
  // x − x is 0 for finite x and NaN otherwise.
  float check = 0.0F;
  F checks(0.0F);
  if (head.output_col == 1) {
    for (; c + kWidth<Isa> <= head.value_dim; c += kWidth<Isa>) {
      const F value = F::load_unaligned(values + c) * F(factor);
      checks += value - value;
      value.store_unaligned(output + c);
    }
  }
  for (; c < head.value_dim; ++c) {
    const float value = values[c] * factor;
    check += value - value;
    output[c * head.output_col] = value;
  }
  return check == 0.0F && xsimd::all(checks == F(0.0F));
}

/// Output and log-sum-exp of a query from its sums.
template <class Isa>
void finish_row(const AttentionHead& head, index row, const RowSums& sums) noexcept {
  if (sums.distances) add_relative_values<Isa>(head, sums.distances, sums.values);
  write_output<Isa>(head, row, sums.values, reciprocal_sum<Isa>(*sums.row_sum));
  if (head.log_sum_exp) {
    head.log_sum_exp[row * head.log_sum_exp_row] =
        static_cast<float>(static_cast<double>(*sums.row_max) + natural_log<Isa>(*sums.row_sum));
  }
}

template <class Isa>
ATTN_INLINE void store_row(const ScoreOutput& out, index row, index key0, index keys,
                           const float* scores) noexcept {
  copy_row<Isa>(keys, scores, 1, out.data + row * out.row + key0 * out.col, out.col);
}

/// Takes a row of scale · q·k to the stage that is asked for, and stores it.
template <class Isa>
void store_scores(const AttentionHead& head, const ScoreOutput& out, index row, index key0,
                  index keys, const float* relative_products, float* scores) noexcept {
  modify_scores<Isa>(head, row, key0, keys, relative_products, out.stage, scores);
  store_row<Isa>(out, row, key0, keys, scores);
}

/// Stores a row of exponentials divided by `sum`, after dropout.
template <class Isa>
void store_weights(const AttentionHead& head, const ScoreOutput& out, index row, index key0,
                   index keys, float sum, float* weights) noexcept {
  if (std::isnan(sum)) {
    // Excluded keys have weight 0 beside attended ones of NaN, too.
    for (index j = 0; j < keys; ++j) {
      if (!is_attended<Isa>(head, row, key0 + j)) weights[j] = 0.0F;
    }
  }
  if (head.random_words) drop_weights<Isa>(head, row, key0, keys, weights);
  store_row<Isa>(out, row, key0, keys, weights);
}

/// Fills one stage of the scores of a finished query.
template <class Isa>
void write_row(const AttentionHead& head, index row, const ScoreOutput& out,
               const RowScratch<Isa>& scratch, const RowSums& sums) noexcept {
  float* scores = scratch.scores;
  for (index key0 = 0; key0 < head.num_keys; key0 += kKeyTile) {
    const index keys = std::min(kKeyTile, head.num_keys - key0);
    dot_keys<Isa>(head, scratch, key0, keys, scores);
    if (out.stage != ScoreStage::kWeights) {
      store_scores<Isa>(head, out, row, key0, keys, scratch.relative_products, scores);
      continue;
    }
    modify_scores<Isa>(head, row, key0, keys, scratch.relative_products, out.stage, scores);
    exp_all<Isa>(scores, round_up(keys, kWidth<Isa>), safe_shift<Isa>(*sums.row_max),
                 reciprocal_sum<Isa>(*sums.row_sum));
    store_weights<Isa>(head, out, row, key0, keys, *sums.row_sum, scores);
  }
}

}  // namespace attn::kernels
