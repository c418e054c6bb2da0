#pragma once

// Products with matrices of 16-bit numbers. For one or a few rows, numbers are widened to floats as
// they are loaded. For many rows, panels are widened in advance, one by one. Sums have the same
// order as in the product of floats, so the result is bit-identical to a product with float32
// weights of the same values.

#include <algorithm>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/product_args.hpp"

namespace attn::kernels {

/// Widens a finite float16 number in the low half of each lane. The multiplication by 2^112, which
/// is exact, corrects the exponent and makes subnormal numbers normal.
template <class Isa>
ATTN_INLINE Floats<Isa> widen_finite_float16(
    xsimd::batch<std::uint32_t, typename Isa::Arch> bits) noexcept {
  using I = xsimd::batch<std::int32_t, typename Isa::Arch>;
  const I shifted = xsimd::bitwise_cast<std::int32_t>(bits << 16) >> 3;
  return xsimd::bitwise_cast<float>(shifted & I(std::int32_t(0x8FFF'FFFFU))) *
         Floats<Isa>(0x1p112F);
}

/// Loads a vector from row k of a panel. `column` is the address of the same columns in row 0. Rows
/// of float16 are consecutive; rows of bfloat16 are interleaved in pairs.
template <class Isa>
ATTN_INLINE Floats<Isa> load_panel(const Float16* column, index k) noexcept {
  const Float16* const from = column + k * kPanelWidth;
  if constexpr (requires { Isa::load_float16(from); }) {
    return Isa::load_float16(from);
  } else {
    return widen_finite_float16<Isa>(Isa::load_words(from));
  }
}
template <class Isa>
ATTN_INLINE Floats<Isa> load_panel(const Bf16Pair* column, index k) noexcept {
  using U = xsimd::batch<std::uint32_t, typename Isa::Arch>;
  const void* const pairs = column + k / 2 * kPanelWidth;
  const U words = U::load_unaligned(static_cast<const std::uint32_t*>(pairs));
  // The low half of each word holds the first number of its pair.
  return xsimd::bitwise_cast<float>((words << (k % 2 == 0 ? 16 : 0)) & U(0xFFFF'0000U));
}

/// The address of column `col` in the first row of its panel.
ATTN_INLINE const Float16* panel_column(const Float16* packed, index depth, index col) noexcept {
  return packed + col / kPanelWidth * kPanelWidth * depth + col % kPanelWidth;
}
ATTN_INLINE const Bf16Pair* panel_column(const Bf16Pair* packed, index depth, index col) noexcept {
  return packed + col / kPanelWidth * kPanelWidth * ((depth + 1) / 2) + col % kPanelWidth;
}

/// Calls function(pointer), where the pointer has the type of the panels' elements.
template <class Function>
ATTN_INLINE void with_panels(ElementType type, const void* panels, Function&& function) noexcept {
  if (type == ElementType::kFloat16) return function(static_cast<const Float16*>(panels));
  function(static_cast<const Bf16Pair*>(panels));
}

/// Number of rows of A that share each widened vector of B. It is not eight, because eight rows
/// that are kCacheAlias apart would map to the same set of a first-level cache. In WebAssembly it
/// is one, to keep the code small.
template <class Isa>
inline constexpr int kStoredRows = Isa::kSteps > 1 ? 4 : 1;
/// Number of vectors in a tile: enough to hide the latency of an addition.
template <class Isa, int Rows>
inline constexpr int kStoredVectors = kWidth<Isa> == kPanelWidth ? 4 : 8 / Rows;
/// The largest number of rows for which each group of kStoredRows rows widens the weights again.
/// With more rows, widening panels once is at least as fast. Zen 4 is an exception: with AVX-512,
/// only one 512-bit multiply-add starts per cycle, and widening panels once is never as fast. With
/// AVX2, two multiply-adds start per cycle, and widening panels once is as fast with 48 or more
/// rows.
template <class Isa>
inline constexpr index kFewRows = kWidth<Isa> == kPanelWidth ? 64
                                  : kWidth<Isa> == 8         ? 32
                                  : kStoredRows<Isa> == 1    ? 2
                                                             : 8;

/// Computes a tile of `Rows` rows, starting at column `col`.
template <class Isa, int Rows, class Panel>
void stored_tile(const StoredProductArgs& p, const Panel* packed_b, index row, index col) noexcept {
  using F = Floats<Isa>;
  constexpr int kVectors = kStoredVectors<Isa, Rows>;
  constexpr index kW = kWidth<Isa>;
  const Panel* b[kVectors];
  // Vectors beyond the last column are never stored. They read the first panel, so that no read
  // leaves the memory of B.
  unroll<kVectors>([&](auto v) ATTN_INLINED {
    const index c = col + v * kW;
    b[v] = panel_column(packed_b, p.depth, c < p.cols ? c : 0);
  });
  const float* a = p.a.at(row);
  F total[Rows][kVectors];
  const index block = depth_block(p.depth);
  for (index begin = 0; begin < p.depth; begin += block) {
    const index end = std::min(begin + block, p.depth);
    F sum[Rows][kVectors];
    unroll<Rows>([&](auto r) ATTN_INLINED {
      unroll<kVectors>([&](auto v) ATTN_INLINED { sum[r][v] = F(0.0F); });
    });
    const auto step = [&](index k) ATTN_INLINED {
      F values[kVectors];
      unroll<kVectors>([&](auto v) ATTN_INLINED { values[v] = load_panel<Isa>(b[v], k); });
      unroll<Rows>([&](auto r) ATTN_INLINED {
        const F factor(a[r * p.a.row + k * p.a.col]);
        unroll<kVectors>([&](auto v)
                             ATTN_INLINED { sum[r][v] = Isa::madd(factor, values[v], sum[r][v]); });
      });
    };
    index k = begin;
    if constexpr (Isa::kSteps > 1) {
      // A single load reads two adjacent rows of bfloat16 numbers.
      if (k % 2 != 0) step(k++);
      for (; k + 2 <= end; k += 2) {
        const index even = k & ~index{1};
        step(even);
        step(even | 1);
      }
    }
    for (; k < end; ++k) step(k);
    unroll<Rows>([&](auto r) ATTN_INLINED {
      unroll<kVectors>([&](auto v) ATTN_INLINED {
        total[r][v] = begin == 0 ? sum[r][v] : sum[r][v] + total[r][v];
      });
    });
  }
  const index count = std::min(kVectors * kW, p.cols - col);
  unroll<Rows>([&](auto r) ATTN_INLINED {
    float tile[kVectors * kW];
    unroll<kVectors>([&](auto v) ATTN_INLINED { total[r][v].store_unaligned(tile + v * kW); });
    float* c = p.c.at(row + r, col);
    for (index j = 0; j < count; ++j) {
      c[j * p.c.col] = p.bias ? tile[j] + p.bias[col + j] : tile[j];
    }
  });
}

/// Computes all columns for groups of `Rows` rows and for the remaining rows.
template <class Isa, int Rows, class Panel>
void stored_rows(const StoredProductArgs& p, const Panel* packed_b, index row) noexcept {
  for (; row + Rows <= p.rows; row += Rows) {
    for (index col = 0; col < p.cols; col += kStoredVectors<Isa, Rows> * kWidth<Isa>) {
      stored_tile<Isa, Rows>(p, packed_b, row, col);
    }
  }
  if constexpr (Rows > 1) stored_rows<Isa, Rows / 2>(p, packed_b, row);
}

template <class Isa>
void stored_product(const StoredProductArgs& p) noexcept {
  with_panels(p.type, p.packed_b,
              [&](const auto* packed_b) { stored_rows<Isa, kStoredRows<Isa>>(p, packed_b, 0); });
}

template <class Isa>
void widen_panels(ElementType type, index cols, index depth, const void* from, float* to) noexcept {
  // Panels of float16 consist of consecutive rows, as panels of floats do.
  if (type == ElementType::kFloat16) {
    return widen_vectors<Isa>(type, round_up(cols, kPanelWidth) * depth, from, 1.0F, to);
  }
  const auto* const packed = static_cast<const Bf16Pair*>(from);
  for (index col = 0; col < cols; col += kPanelWidth) {
    const Bf16Pair* const column = panel_column(packed, depth, col);
    for (index k = 0; k < depth; ++k, to += kPanelWidth) {
      unroll<kPanelWidth / kWidth<Isa>>([&](auto v) ATTN_INLINED {
        load_panel<Isa>(column + v * kWidth<Isa>, k).store_unaligned(to + v * kWidth<Isa>);
      });
    }
  }
}

}  // namespace attn::kernels
