#pragma once

// Products of a single query with keys and values as they are stored, of any type. Rows are widened
// in registers while they are multiplied, and nothing is copied. If the results would not be
// bit-identical to results from float32 tensors with the same numbers, the functions report that,
// and the caller widens the rows first.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/elements_args.hpp"
#include "kernels/product_tile.hpp"

namespace attn::kernels {

/// True if numbers of a type are loaded two vectors at a time.
template <class Isa, class T>
inline constexpr bool kLoadsPairs =
    requires(const T* from) { Isa::load_pair(from, std::declval<typename Isa::Seen&>()); };
/// The factor that corrects numbers loaded by load_pair(). The other operand of a product is
/// multiplied by this factor, and this multiplication is exact.
template <class T>
inline constexpr float kPairScale = std::is_same_v<T, Float16> ? 0x1p112F : 1.0F;
template <class Isa, class T>
inline constexpr bool kLoadsScaled = kLoadsPairs<Isa, T> && kPairScale<T> != 1.0F;
/// The largest magnitude that the other operand may have. Its product with kPairScale is at most
/// 2^126, which is finite.
inline constexpr float kLargestScaled = 0x1p14F;

template <class Isa, class T>
ATTN_INLINE auto nothing_seen() noexcept {
  if constexpr (kLoadsPairs<Isa, T>) {
    return Isa::nothing_seen();
  } else {
    return 0;
  }
}
/// True if all numbers seen so far can be loaded two vectors at a time.
template <class Isa, class T, class Seen>
ATTN_INLINE bool in_range(const Seen& seen) noexcept {
  if constexpr (kLoadsScaled<Isa, T>) {
    return Isa::in_range(seen);
  } else {
    return true;
  }
}

/// True if products can read rows of stored numbers in place instead of from float copies. `row` is
/// the first row, and `others` is the other operand of the products. If numbers are loaded two
/// vectors at a time, each row must consist of whole groups of `group` vectors. This requirement
/// keeps the code small.
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

/// scores_j = q · k_j. Keys are read in memory order and prefetched. Processors also prefetch, but
/// they stop at the end of a page, which is 16 keys of 64 floats, and do not prefetch at all if
/// many rows are read alternately. `scaled` is memory for a scaled copy of the query. Returns false
/// if scores must be computed from floats.
template <class Isa, class T>
__attribute__((noinline)) bool dot_rows(index depth, const float* query, const T* key,
                                        index key_row, index keys, float* scores,
                                        float* scaled) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  /// With narrow vectors, several keys share each load of the query. With wide vectors, float keys
  /// are not grouped, because loading the keys takes longer than summing the lanes.
  constexpr bool kGroup = kHasSumLanes<Isa> && (kW < kPanelWidth || !std::is_same_v<T, float>);
  constexpr int kKeys = kGroup ? kW : kW < kPanelWidth ? 4 : 1;
  /// Prefetch distance if keys are contiguous, in elements: 8 KB of floats. On Zen 5, neither a
  /// distance of 4, 16 or 32 KB nor prefetching values too makes reading faster.
  constexpr index kAhead = 2048;
  /// Number of elements in a cache line.
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
    const auto each_row = [](auto&& body) ATTN_INLINED { unroll<kKeys>(body); };
    // Lanes beyond the last key read the last key again; their scores are not used.
    each_row([&](auto i) ATTN_INLINED {
      rows[i] = key + std::min<index>(j + i, keys - 1) * key_row;
      sums[i] = F(0.0F);
      for (index d = 0; d < whole; d += kLine) __builtin_prefetch(rows[i] + ahead + d);
    });
    index d = 0;
    // For bfloat16 numbers, loading one vector at a time is faster in this loop.
    if constexpr (kLoadsPairs<Isa, T> && !std::is_same_v<T, BFloat16>) {
      const float* const by = kPairScale<T> == 1.0F ? query : scaled;
      const auto multiply = [&](index at) ATTN_INLINED {
        const F low = F::load_unaligned(by + at);
        const F high = F::load_unaligned(by + at + kW);
        each_row([&](auto i) ATTN_INLINED {
          const auto pair = Isa::load_pair(rows[i] + at, seen);
          sums[i] = Isa::madd(high, pair.high, Isa::madd(low, pair.low, sums[i]));
        });
      };
      for (; d + 2 * kW <= whole; d += 2 * kW) multiply(d);
    }
    if constexpr (!kLoadsPairs<Isa, T> || std::is_same_v<T, BFloat16>) {
      for (; d < whole; d += kW) {
        const F q = F::load_unaligned(query + d);
        each_row([&](auto i)
                     ATTN_INLINED { sums[i] = Isa::madd(q, load<Isa>(rows[i] + d), sums[i]); });
      }
    }
    if constexpr (kGroup) {
      Isa::sum_lanes(sums).store_unaligned(scores + j);
    } else {
      each_row([&](auto i) ATTN_INLINED { scores[j + i] = xsimd::reduce_add(sums[i]); });
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

/// Widens several stored rows to floats and pads them with zeros to padded_cols. Scales of int8
/// rows are not applied.
template <class Isa>
void widen_rows(const StoredRows& rows, index first, index count, index cols, index padded_cols,
                float* to) noexcept {
  WidenArgs p;
  p.rows = count;
  p.cols = cols;
  p.padded_cols = padded_cols;
  p.from = {rows.type, row_at(rows, first), rows.row, nullptr, 0};
  p.to = {to, padded_cols};
  widen<Isa>(p);
}

/// sums = sums · factor + Σ_j weight_j · v_j, for floats, with the micro-kernel of products.
template <class Isa>
void add_weighted_rows(index keys, const float* weights, const float* value, index value_row,
                       index cols, float factor, float* sums) noexcept {
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = 4;
  index col = 0;
  for (; col + kVectors * kW <= cols; col += kVectors * kW) {
    const float* b[kVectors];
    unroll<kVectors>([&](auto v) ATTN_INLINED { b[v] = value + col + v * kW; });
    product_rows<Isa, 1, kVectors, TileFinish::kScaleAdd, kAnyStride, 1>(
        1, keys, weights, 0, b, value_row, sums + col, cols, &factor);
  }
  for (; col < cols; col += kW) {
    const float* b[1] = {value + col};
    product_rows<Isa, 1, 1, TileFinish::kScaleAdd, kAnyStride, 1>(1, keys, weights, 0, b, value_row,
                                                                  sums + col, cols, &factor);
  }
}

/// partial += Σ_j weight_j · v_j, in the order of keys. Computes as many columns as fit into
/// `Vectors` vectors.
template <class Isa, int Vectors, class T, class Seen>
ATTN_INLINE void add_weighted_columns(index keys, const float* weights, const T* value,
                                      index value_row, float* partial,
                                      [[maybe_unused]] Seen& seen) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const auto stride = static_cast<std::ptrdiff_t>(value_row);
  F sum[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED { sum[v] = F::load_unaligned(partial + v * kW); });
  for (index j = 0; j < keys; ++j, value += stride) {
    if constexpr (kLoadsPairs<Isa, T> && Vectors % 2 == 0) {
      const F weight(kPairScale<T> * weights[j]);
      unroll<Vectors / 2>([&](auto v) ATTN_INLINED {
        const auto pair = Isa::load_pair(value + 2 * v * kW, seen);
        sum[2 * v] = Isa::madd(weight, pair.low, sum[2 * v]);
        sum[2 * v + 1] = Isa::madd(weight, pair.high, sum[2 * v + 1]);
      });
    } else {
      const F weight(weights[j]);
      unroll<Vectors>([&](auto v) ATTN_INLINED {
        sum[v] = Isa::madd(weight, load<Isa>(value + v * kW), sum[v]);
      });
    }
  }
  unroll<Vectors>([&](auto v) ATTN_INLINED { sum[v].store_unaligned(partial + v * kW); });
}

/// sums = sums · factor + Σ_j weight_j · v_j for other types, widened in registers. `partial` is
/// memory for a row. The result is NaN if the sums must be computed again from floats.
template <class Isa, class T>
__attribute__((noinline)) void add_weighted_rows(index keys, const float* weights, const T* value,
                                                 index value_row, index cols, float factor,
                                                 float* partial, float* sums) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = 8;
  /// With vectors of four floats, each group of rows takes several passes, one for each block of
  /// columns. Groups have only a few rows, so that these passes together read memory nearly in
  /// order.
  constexpr index kGroup = kW == 4 ? 16 : kRowBlockKeys;
  [[maybe_unused]] auto seen = nothing_seen<Isa, T>();
  std::fill_n(partial, cols, 0.0F);
  for (index j = 0; j < keys; j += kGroup) {
    const auto add = [&](auto vectors, index col) ATTN_INLINED {
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
  if (!in_range<Isa, T>(seen)) {
    sums[0] = std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace attn::kernels
