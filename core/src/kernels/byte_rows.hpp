#pragma once

// Multiplies a single query by int8 keys, and its weights by int8 values, on instruction sets that
// multiply bytes. One instruction adds four products of bytes to each 32-bit integer. The query and
// the weights are therefore rounded to 24-bit integers, relative to the largest magnitude, and each
// integer is split into three bytes. Sums of products of bytes are exact.
//
// Rounding changes each element of the scaled query by at most 2^-22 times the largest magnitude in
// the query. A weight is first multiplied by the scale of its value. Rounding changes the product
// by at most 2^-23 times the largest product in a block of kRowBlockKeys keys, plus 2^-22 times its
// own magnitude.
//
// Keys and values are not widened. Four rows are interleaved, so that one vector contains the same
// columns of all four rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention_args.hpp"
#include "kernels/elements.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// True if an instruction set multiplies bytes. Its `Isa` then also defines the following
/// operations. A part of a vector is 128 bits long.
/// - dot_bytes(a, b, c): multiplies the bytes of a by the signed bytes of b, and adds four products
///   to each integer of c. The bytes of a are signed if kSignedBytes is true.
/// - load_row(from), load_row(from, count): loads a vector of bytes. With `count`, only the first
///   `count` bytes are loaded, and the others are zero. `count` may exceed the length of a vector.
/// - store_low_bytes(words, to): stores the lowest byte of each lane.
/// - spread_column<c>(x): copies lane c of each part to all lanes of the part.
/// - transpose_words(x): in each part, transposes the 4 × 4 matrix of lanes.
/// - interleave_bytes(x): in each part, transposes the 4 × 16 matrix of bytes. Each lane of the
///   result contains one column, and the lanes are in the order of the columns.
/// - sum_parts(x): adds up the parts of each vector. Part i of the result is the sum for vector i.
///   Takes as many vectors as a vector has parts.
/// - order_parts(x): puts the parts of four vectors in this order: the first part of each vector,
///   then the second part of each vector, and so on.
template <class Isa>
inline constexpr bool kDotsBytes = requires(typename Isa::I x) { Isa::dot_bytes(x, x, x); };

/// Number of bytes in a vector.
template <class Isa>
inline constexpr index kVectorBytes = 4 * kWidth<Isa>;

/// Largest number of columns in a row. With more columns, sums could overflow.
template <class Isa>
inline constexpr index kLargestByteDepth = 64 * kWidth<Isa>;

/// Largest integers that can be split into three signed or three unsigned bytes, less a margin for
/// rounding.
inline constexpr float kMostSigned = 0x7F7F00, kMostUnsigned = 0xFFFF00;

/// If all magnitudes are below kTiny, the numbers are first multiplied by kEnlarge. Otherwise, the
/// factor that turns them into integers could be infinite.
inline constexpr float kTiny = 0x1p-90F;
inline constexpr float kEnlarge = 0x1p100F;

/// Represents a row of numbers as integers: number = integer · unit · shrink.
struct ByteScale {
  float unit;
  float shrink;
  float to_integers;

  /// `largest` is the largest magnitude, and `most` the integer that represents it.
  ByteScale(float largest, float most) noexcept : shrink(largest < kTiny ? 1 / kEnlarge : 1.0F) {
    const float enlarged = largest / shrink;
    unit = enlarged / most;
    to_integers = enlarged > 0 ? most / enlarged : 0.0F;
  }
};

/// Rounds numbers to integers, splits each integer into three bytes with values b_0, b_1 and b_2,
/// such that integer = b_0 + 2^8 · b_1 + 2^16 · b_2, and stores them in `low`, `middle` and `high`.
template <class Isa, bool Signed>
ATTN_INLINE void store_as_bytes(Floats<Isa> x, const ByteScale& scale, std::uint8_t* low,
                                std::uint8_t* middle, std::uint8_t* high) noexcept {
  using I = typename Isa::I;
  I bytes =
      xsimd::nearbyint_as_int(x * Floats<Isa>(1 / scale.shrink) * Floats<Isa>(scale.to_integers));
  // Adds 128 to each byte, with carries, then subtracts 128 from each byte.
  if constexpr (Signed) bytes = (bytes + I(0x808080)) ^ I(0x808080);
  Isa::store_low_bytes(bytes, low);
  Isa::store_low_bytes(bytes >> 8, middle);
  Isa::store_low_bytes(bytes >> 16, high);
}

template <class Isa>
ATTN_INLINE auto load_integers(const float* from) noexcept {
  return bits_as<std::int32_t>(Floats<Isa>::load_unaligned(from));
}

/// A query whose elements are split into signed bytes, stored in memory for floats. The memory
/// contains three corrections, the factors and, for each vector of bytes, twelve vectors: four each
/// for the low, middle and high bytes. In vector c of four, lane c of each part is copied to all
/// lanes of the part.
template <class Isa>
class ByteQuery {
  using F = Floats<Isa>;
  using I = typename Isa::I;

 public:
  static constexpr index kVectors = 12;
  static index size(index depth) noexcept {
    return depth > kLargestByteDepth<Isa>
               ? 0
               : kWidth<Isa> * (4 + kVectors * ceil_divide(depth, kVectorBytes<Isa>));
  }
  explicit ByteQuery(float* memory) noexcept : memory_(memory) {}

  void set(index depth, const float* query) noexcept {
    if (depth > kLargestByteDepth<Isa>) return;
    const float largest = largest_magnitude<Isa>(depth, query, 1);
    float* const factors = memory_ + 3 * kWidth<Isa>;
    factors[2] = std::isfinite(largest) ? 1.0F : 0.0F;
    if (!std::isfinite(largest)) return;
    const ByteScale scale(largest, kMostSigned);
    factors[0] = scale.unit;
    factors[1] = scale.shrink;
    I sums[3] = {I(0), I(0), I(0)};
    float* to = memory_ + 4 * kWidth<Isa>;
    for (index d = 0; d < depth; d += kVectorBytes<Isa>) {
      alignas(64) std::uint8_t bytes[3][kVectorBytes<Isa>] = {};
      for (index c = 0; c < std::min(kVectorBytes<Isa>, depth - d); c += kWidth<Isa>) {
        const index rest = depth - d - c;
        const F x =
            rest < kWidth<Isa> ? load_first(query + d + c, rest) : F::load_unaligned(query + d + c);
        store_as_bytes<Isa, true>(x, scale, bytes[0] + c, bytes[1] + c, bytes[2] + c);
      }
      unroll<3>([&](auto part) ATTN_INLINED {
        const I x = Isa::load_row(bytes[part]);
        unroll<4>([&](auto c) ATTN_INLINED {
          const I spread = Isa::template spread_column<c>(x);
          bits_as<float>(spread).store_unaligned(to + (4 * part + c) * kWidth<Isa>);
          sums[part] = Isa::dot_bytes(I(0x01010101), spread, sums[part]);
        });
      });
      to += kVectors * kWidth<Isa>;
    }
    unroll<3>([&](auto part) ATTN_INLINED {
      const I correction = Isa::kSignedBytes ? I(0) : I(0) - (sums[part] << 7);
      bits_as<float>(correction).store_unaligned(memory_ + part * kWidth<Isa>);
    });
  }

  /// False if the query has too many elements or contains a number that is not finite.
  bool is_set(index depth) const noexcept {
    return depth <= kLargestByteDepth<Isa> && memory_[3 * kWidth<Isa> + 2] != 0.0F;
  }
  /// The factors by which sums of integers are multiplied.
  float unit() const noexcept { return memory_[3 * kWidth<Isa>]; }
  float shrink() const noexcept { return memory_[3 * kWidth<Isa> + 1]; }

  /// If dot_bytes() needs unsigned bytes, keys are 128 too large. The sums of their products with
  /// the low, middle or high bytes (`part` 0, 1 or 2) therefore start with this correction.
  I correction(int part) const noexcept { return load_integers<Isa>(memory_ + part * kWidth<Isa>); }
  /// Vector c of the low, middle or high bytes (`part` 0, 1 or 2), for columns starting at d, a
  /// multiple of kVectorBytes.
  ATTN_INLINE I vector(index d, int part, int c) const noexcept {
    return load_integers<Isa>(memory_ + 4 * kWidth<Isa> +
                              d / kVectorBytes<Isa> * kVectors * kWidth<Isa> +
                              (4 * part + c) * kWidth<Isa>);
  }

 private:
  static F load_first(const float* from, index count) noexcept {
    alignas(64) float x[kWidth<Isa>] = {};
    std::copy_n(from, count, x);
    return F::load_aligned(x);
  }
  float* memory_;
};

/// Calls body(load), where load(row, d) loads a vector of bytes from a row with `cols` columns,
/// starting at column d.
template <class Isa, class Body>
ATTN_INLINE void with_row_loads(index cols, Body&& body) noexcept {
  if (cols % kVectorBytes<Isa> == 0) {
    body([](const std::int8_t* row, index d) ATTN_INLINED { return Isa::load_row(row + d); });
  } else {
    body([cols](const std::int8_t* row, index d)
             ATTN_INLINED { return Isa::load_row(row + d, cols - d); });
  }
}

/// Rows to prefetch while other rows are multiplied: values while keys are multiplied, and the next
/// keys while values are multiplied. This spreads the reads of memory evenly. The rows are
/// prefetched to the second-level cache. On Zen 4, prefetching them to the first-level cache is
/// slower, and so is prefetching only rows of the same tensor.
struct RowsAhead {
  const std::int8_t* first;
  index row;
};

/// Four consecutive rows, starting at row j. If there are fewer, the last one is repeated.
struct FourRows {
  const std::int8_t* rows[4];
  const std::int8_t* ahead[4];

  ATTN_INLINE FourRows(const std::int8_t* first, index row, index j, index count,
                       const RowsAhead& others) noexcept {
    const std::int8_t* const from = first + j * row;
    const std::int8_t* const next = others.first + j * others.row;
    unroll<4>([&](auto i) ATTN_INLINED {
      rows[i] = from + i * row;
      ahead[i] = next + i * others.row;
    });
    if (j + 4 > count) [[unlikely]] {
      for (index i = 0; i < 4; ++i) rows[i] = first + std::min(j + i, count - 1) * row;
    }
  }
  /// Loads a vector of bytes from each row, starting at column d, and prefetches the rows ahead.
  template <class I, class Load>
  ATTN_INLINE void load(I (&x)[4], index d, Load& load_row) const noexcept {
    unroll<4>([&](auto i) ATTN_INLINED {
      x[i] = load_row(rows[i], d);
      __builtin_prefetch(ahead[i] + d, 0, 2);
    });
  }
};

/// Multiplies four keys by the query. Each part of the result contains partial sums, one for each
/// key. query(d, part, c) returns ByteQuery::vector.
template <class Isa, class Load, class Query>
ATTN_INLINE Floats<Isa> dot_four_keys(index depth, const FourRows& rows,
                                      const typename Isa::I (&corrections)[3], Load& load,
                                      Query& query) noexcept {
  using I = typename Isa::I;
  I low = corrections[0], middle = corrections[1], high = corrections[2];
  for (index d = 0; d < depth; d += kVectorBytes<Isa>) {
    I x[4];
    rows.load(x, d, load);
    Isa::transpose_words(x);
    unroll<4>([&](auto c) ATTN_INLINED {
      const I keys = Isa::kSignedBytes ? x[c] : x[c] ^ I(static_cast<std::int32_t>(0x80808080));
      low = Isa::dot_bytes(keys, query(d, 0, c), low);
      middle = Isa::dot_bytes(keys, query(d, 1, c), middle);
      high = Isa::dot_bytes(keys, query(d, 2, c), high);
    });
  }
  return Isa::madd(xsimd::to_float(high), Floats<Isa>(0x1p16F),
                   xsimd::to_float((middle << 8) + low));
}

/// scores_j = q · k_j. Does not apply the scales of keys. Writes whole vectors of scores.
template <class Isa>
__attribute__((noinline)) void dot_byte_rows(index depth, const ByteQuery<Isa>& query,
                                             const std::int8_t* key, index key_row, index keys,
                                             const RowsAhead& ahead, float* scores) noexcept {
  using F = Floats<Isa>;
  using I = typename Isa::I;
  constexpr index kW = kWidth<Isa>;
  constexpr int kParts = static_cast<int>(kW / 4);
  const F unit(query.unit()), shrink(query.shrink());
  const I corrections[3] = {query.correction(0), query.correction(1), query.correction(2)};
  const auto multiply = [&](auto&& load, auto&& vector) ATTN_INLINED {
    for (index j = 0; j < keys; j += kW) {
      F sums[kParts];
      unroll<kParts>([&](auto part) ATTN_INLINED {
        // Lanes beyond the last key read the last key again; their scores are not used.
        const FourRows rows(key, key_row, j + 4 * part, keys, ahead);
        sums[part] = dot_four_keys<Isa>(depth, rows, corrections, load, vector);
      });
      (Isa::sum_parts(sums) * unit * shrink).store_unaligned(scores + j);
    }
  };
  if (kW == 16 && depth == kVectorBytes<Isa>) {  // the query stays in registers
    I vectors[3][4];
    unroll<12>([&](auto i) ATTN_INLINED { vectors[i / 4][i % 4] = query.vector(0, i / 4, i % 4); });
    const auto vector = [&](index, int part, int c) ATTN_INLINED { return vectors[part][c]; };
    const auto load = [](const std::int8_t* row, index) ATTN_INLINED { return Isa::load_row(row); };
    return multiply(load, vector);
  }
  const auto vector = [&](index d, int part, int c)
                          ATTN_INLINED { return query.vector(d, part, c); };
  with_row_loads<Isa>(depth, [&](auto load) ATTN_INLINED { multiply(load, vector); });
}

/// sums = sums · factor + Σ_j weight_j · v_j. The weights include the scales of values and are not
/// negative. If one is NaN, the sums become NaN. `bytes` is memory for three rows of kRowBlockKeys
/// bytes.
template <class Isa>
__attribute__((noinline)) void add_weighted_byte_rows(index keys, const float* weights,
                                                      const std::int8_t* value, index value_row,
                                                      index value_dim, float factor,
                                                      const RowsAhead& ahead, std::uint8_t* bytes,
                                                      float* sums) noexcept {
  using F = Floats<Isa>;
  using I = typename Isa::I;
  constexpr index kW = kWidth<Isa>;
  const index cols = round_up(value_dim, kW);
  const float largest = largest_magnitude<Isa>(keys, weights, 1);
  if (!std::isfinite(largest)) {
    std::fill_n(sums, cols, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const ByteScale scale(largest, Isa::kSignedBytes ? kMostSigned : kMostUnsigned);
  for (index j = 0; j < keys; j += kW) {
    store_as_bytes<Isa, Isa::kSignedBytes>(F::load_unaligned(weights + j), scale, bytes + j,
                                           bytes + kRowBlockKeys + j,
                                           bytes + 2 * kRowBlockKeys + j);
  }
  for (index j = keys; j < round_up(keys, 4); ++j) {
    unroll<3>([&](auto part) ATTN_INLINED { bytes[part * kRowBlockKeys + j] = 0; });
  }
  const F unit(scale.unit), shrink(scale.shrink);
  with_row_loads<Isa>(value_dim, [&](auto load) ATTN_INLINED {
    for (index col = 0; col < value_dim; col += kVectorBytes<Isa>) {
      I parts[3][4];
      unroll<12>([&](auto i) ATTN_INLINED { parts[i / 4][i % 4] = I(0); });
      for (index j = 0; j < keys; j += 4) {
        I x[4];
        FourRows(value, value_row, j, keys, ahead).load(x, col, load);
        Isa::interleave_bytes(x);
        unroll<3>([&](auto part) ATTN_INLINED {
          std::int32_t four = 0;
          __builtin_memcpy(&four, bytes + part * kRowBlockKeys + j, sizeof four);
          unroll<4>([&](auto i) ATTN_INLINED {
            parts[part][i] = Isa::dot_bytes(I(four), x[i], parts[part][i]);
          });
        });
      }
      F total[4];
      unroll<4>([&](auto i) ATTN_INLINED {
        const F low =
            Isa::madd(xsimd::to_float(parts[1][i]), F(0x1p8F), xsimd::to_float(parts[0][i]));
        total[i] = Isa::madd(xsimd::to_float(parts[2][i]), F(0x1p16F), low);
      });
      Isa::order_parts(total);
      unroll<4>([&](auto i) ATTN_INLINED {
        float* const to = sums + col + i * kW;
        if (col + i * kW < cols) {
          Isa::madd(F::load_unaligned(to), F(factor), total[i] * unit * shrink).store_unaligned(to);
        }
      });
    }
  });
}

}  // namespace attn::kernels
