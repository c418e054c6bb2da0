#pragma once

// The integer type of sizes, and the layout of packed matrices.

#include <cstdint>

namespace attn::kernels {

using index = std::int64_t;

/// Number of columns in a panel of a packed matrix, for every instruction set: one cache line of
/// floats. Panel p contains columns 16p … 16p+15 as [depth][16], padded with zeros.
inline constexpr index kPanelWidth = 16;

/// a / b, rounded up: the number of blocks of b elements that hold a elements.
constexpr index ceil_divide(index a, index b) { return (a + b - 1) / b; }

constexpr index round_up(index value, index multiple) {
  return ceil_divide(value, multiple) * multiple;
}

/// Number of floats in the packed form of a (cols × depth) matrix.
constexpr index packed_size(index cols, index depth) { return round_up(cols, kPanelWidth) * depth; }

/// Two bf16 numbers, the first in the low half. Instructions multiply the numbers of one pair by
/// the numbers of another pair, and add the products. A contiguous row of bf16 numbers is a row of
/// pairs.
struct __attribute__((may_alias)) Bf16Pair {
  std::uint16_t first, second;
};

/// Number of pairs in the packed form of a (cols × depth) matrix of bf16. Panels are like panels of
/// floats, with pairs along the depth and a zero if the last pair has no second number.
constexpr index bf16_packed_size(index cols, index depth) {
  return round_up(cols, kPanelWidth) * ((depth + 1) / 2);
}

}  // namespace attn::kernels
