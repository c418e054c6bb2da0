#pragma once

// The operations of attention on pairs of bf16 numbers, except products: arranging queries, keys
// and values in pairs, and turning scores into pairs of weights.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/bf16/product.hpp"
#include "kernels/transpose.hpp"

namespace attn::kernels {

ATTN_INLINE float widen(std::uint16_t number) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number) << 16);
}

/// Number of pairs in a query or a key, rounded up to whole steps.
template <class Isa>
constexpr index pair_depth(index head_dim) noexcept {
  return round_up((head_dim + 1) / 2, kDepthStep<Isa>);
}

/// Packs the queries into a (depth pairs × to_row) matrix. Each element is a pair of consecutive
/// depth values, and each query occupies one of `lanes` lanes. Lanes starting at `count` are never
/// used. `negative` flips the signs.
template <class Isa>
void pair_queries(index count, index lanes, index head_dim, const std::uint16_t* query, index row,
                  index col, bool negative, Bf16Pair* queries, index to_row) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index depth = (head_dim + 1) / 2;
  const std::uint32_t signs = negative ? 0x80008000 : 0;
  if (col != 1 || row % 2 != 0 || head_dim % 2 != 0 || depth < 4) {
    for (index i = 0; i < lanes; ++i) {
      const std::uint16_t* from = query + std::min(i, count - 1) * row;
      for (index d = 0; d < depth; ++d) {
        const std::uint32_t first = from[2 * d * col];
        const std::uint32_t second = 2 * d + 1 < head_dim ? from[(2 * d + 1) * col] : 0;
        queries[d * to_row + i] = std::bit_cast<Bf16Pair>((first | second << 16) ^ signs);
      }
    }
    return;
  }
  const F sign = broadcast_element<Isa>(std::bit_cast<Bf16Pair>(signs));
  for (index i = 0; i < lanes; i += kW) {
    const float* rows[kW];
    for (index r = 0; r < kW; ++r) {
      rows[r] = reinterpret_cast<const float*>(query + std::min(i + r, count - 1) * row);
    }
    for (index next = 0; next < depth; next += 4) {
      const index d = std::min(next, depth - 4);
      F columns[4];
      load_columns<Isa>(rows, d, columns);
      unroll<4>([&](auto c) ATTN_INLINED {
        store_elements<Isa>(columns[c] ^ sign, queries + (d + c) * to_row + i);
      });
    }
  }
}

/// Combines the values of every two adjacent keys, starting at key0, into a row of pairs: one pair
/// for each column. Values are zero for keys that a query may not attend to, for the second key of
/// an incomplete last pair, and for columns beyond the values.
template <class Attends>
ATTN_INLINE void pair_values(const Bf16AttentionHead& head, index key0, index keys, index cols,
                             Attends&& attends, Bf16Pair* pairs) noexcept {
  const index dim = head.value_dim;
  for (index j = 0; j < keys; j += 2, pairs += cols) {
    const std::uint16_t* __restrict first = head.value.at(key0 + j);
    const bool has_second = j + 1 < keys && attends(key0 + j + 1);
    const std::uint16_t* __restrict second = has_second ? first + head.value.row : first;
    const std::uint32_t first_bits = attends(key0 + j) ? 0xFFFF : 0;
    const std::uint32_t second_bits = has_second ? 0xFFFF0000 : 0;
    std::uint32_t* __restrict to = reinterpret_cast<std::uint32_t*>(pairs);
    for (index c = 0; c < dim; ++c) {
      const std::uint32_t a = first[c];
      const std::uint32_t b = second[c];
      to[c] = (a & first_bits) | (b << 16 & second_bits);
    }
    std::fill(to + dim, to + cols, 0U);
  }
}

/// Like exp2_shifted, for scores that must still be multiplied by `scale`, with lowest = (m − 127)
/// / scale. Relative error at most 2.4e-7: product and difference are rounded once, and the
/// polynomial of degree 5 (minimax in relative error, 9.2e-8) is accurate to the rounding of
/// float32. Weights are then rounded to eight significant bits.
template <class Isa, int N>
ATTN_INLINE void exp2_scaled(Floats<Isa> (&x)[N], Floats<Isa> scale,
                             const Floats<Isa> (&rounder)[N],
                             const Floats<Isa> (&lowest)[N]) noexcept {
  using F = Floats<Isa>;
  using I = xsimd::as_integer_t<F>;
  F p[N], power[N];
  const auto each = [&](auto&& step) ATTN_INLINED { unroll<N>(step); };
  each([&](auto i) ATTN_INLINED { x[i] = Isa::at_least(x[i], lowest[i]); });
  each([&](auto i) ATTN_INLINED { power[i] = Isa::madd(x[i], scale, rounder[i]); });
  each([&](auto i) ATTN_INLINED { x[i] = Isa::madd(x[i], scale, rounder[i] - power[i]); });
  each([&](auto i) ATTN_INLINED {
    power[i] = bits_as<float>(I(bits_as<std::int32_t>(power[i])) << 23);
    p[i] = Isa::madd(F(1.32647290e-3F), x[i], F(9.67151364e-3F));
  });
  constexpr float kCoefficients[] = {5.55073375e-2F, 2.40222421e-1F, 6.93146978e-1F, 1.0F};
  unroll<4>([&](auto k) ATTN_INLINED {
    each([&](auto i) ATTN_INLINED { p[i] = Isa::madd(p[i], x[i], F(kCoefficients[k])); });
  });
  each([&](auto i) ATTN_INLINED { x[i] = p[i] * power[i]; });
}

/// Computes e = 2^(scale · s − m) for each score s, where m is an integer, and stores each row of e
/// as pairs. Returns the sums of e and the sums of the rounded e. Outputs are divided by the sums
/// of the rounded e. The weights therefore sum to one, and a query that attends to a single key
/// gets that key's value, as in float32. The error of an output is 2^-8 · Σ w·|v − o|, not 2^-8 · Σ
/// w·|v|. The log-sum-exp uses the exact sums.
template <class Isa, int Vectors>
ATTN_INLINE void exponentiate_pairs(index keys, float scale, float* tile, index row,
                                    const Floats<Isa> (&max)[Vectors], Floats<Isa> (&sum)[Vectors],
                                    Floats<Isa> (&weights)[Vectors]) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const F scales(scale);
  const F ones = broadcast_element<Isa>(Bf16Pair{0x3F80, 0x3F80});
  F rounder[Vectors], lowest[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    rounder[v] = F(kExponentRounder) - max[v];
    lowest[v] = (max[v] - F(127.0F)) / scales;
    sum[v] = F(0.0F);
    weights[v] = F(0.0F);
  });
  for (index j = 0; j < keys; j += 2) {
    F first[Vectors], second[Vectors];
    float* scores = tile + j * row;
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      first[v] = F::load_unaligned(scores + v * kW);
      second[v] = j + 1 < keys ? F::load_unaligned(scores + row + v * kW) : F(kMinusInfinity);
    });
    exp2_scaled<Isa, Vectors>(first, scales, rounder, lowest);
    exp2_scaled<Isa, Vectors>(second, scales, rounder, lowest);
    Bf16Pair* to = reinterpret_cast<Bf16Pair*>(tile + j / 2 * row);
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      const F pair = Isa::pair(first[v], second[v]);
      store_elements<Isa>(pair, to + v * kW);
      sum[v] += first[v] + second[v];
      weights[v] = Isa::dot(pair, ones, weights[v]);
    });
  }
}

}  // namespace attn::kernels
