#pragma once

// The running softmax of a tile of scores (keys × queries), for some vectors of queries:
//
//   m' = max(m, round(max_j s_j)),   f = 2^(m − m'),   l' = l · f + Σ_j 2^(s_j − m')
//
// Scores are in units of ln 2, as in the table of attention_tile.hpp. round(…) is the nearest
// integer, so m is an integer or −∞.

#include "kernels/attention_scratch.hpp"

namespace attn::kernels {

/// The number subtracted from the scores of a query: its maximum, or 0 before the first key.
template <class Isa>
ATTN_INLINE Floats<Isa> max_or_zero(Floats<Isa> max) noexcept {
  return xsimd::select(max == Floats<Isa>(kMinusInfinity), Floats<Isa>(0.0F), max);
}

/// max = max_j scores_j. Computes separate maxima of even and odd keys. Each maximum depends on the
/// previous one, so two independent chains are faster than one.
template <class Isa, int Vectors>
ATTN_INLINE void find_maxima(index keys, const float* tile, index tile_row,
                             Floats<Isa> (&max)[Vectors]) noexcept {
  using F = Floats<Isa>;
  F largest[2 * Vectors];
  unroll<2 * Vectors>([&](auto i) ATTN_INLINED { largest[i] = F(kMinusInfinity); });
  const auto compare = [&](auto i, const float* scores) ATTN_INLINED {
    largest[i] = xsimd::max(F::load_unaligned(scores + i % Vectors * kWidth<Isa>), largest[i]);
  };
  for (index j = 0; j + 2 <= keys; j += 2) {
    unroll<2 * Vectors>([&](auto i)
                            ATTN_INLINED { compare(i, tile + (j + i / Vectors) * tile_row); });
  }
  if (keys % 2 != 0) {
    unroll<Vectors>([&](auto v) ATTN_INLINED { compare(v, tile + (keys - 1) * tile_row); });
  }
  unroll<Vectors>([&](auto v)
                      ATTN_INLINED { max[v] = xsimd::max(largest[v], largest[Vectors + v]); });
}

/// Raises the running maxima to the maxima of a tile, rounded to integers, for the queries starting
/// at `col`. Computes the numbers to subtract from scores, and the factors that rescale the sums so
/// far.
template <class Isa, int Vectors, class Scratch>
ATTN_INLINE void raise_maxima(const Floats<Isa> (&tile_max)[Vectors], index col,
                              const Scratch& scratch, Floats<Isa> (&shift)[Vectors],
                              Floats<Isa> (&factor)[Vectors]) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    const F rounder(kRounder);
    const F rounded = (tile_max[v] + rounder) - rounder;
    const F old_max = F::load_unaligned(scratch.max + col + v * kW);
    const F new_max = xsimd::max(rounded, old_max);
    factor[v] =
        xsimd::select(new_max == old_max, F(1.0F), exp2_nonpositive<Isa>(old_max - new_max));
    factor[v].store_unaligned(scratch.factor + col + v * kW);
    new_max.store_unaligned(scratch.max + col + v * kW);
    shift[v] = max_or_zero<Isa>(new_max);
  });
}

/// Turns scores s into 2^(s − m), where m is an integer, and returns the sums per query.
template <class Isa, int Vectors>
ATTN_INLINE void exponentiate(index keys, float* tile, index tile_row,
                              const Floats<Isa> (&max)[Vectors],
                              Floats<Isa> (&sum)[Vectors]) noexcept {
  using F = Floats<Isa>;
  F rounder[Vectors], lowest[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    rounder[v] = F(kExponentRounder) - max[v];
    lowest[v] = max[v] - F(127.0F);
    sum[v] = F(0.0F);
  });
  for (index j = 0; j < keys; ++j) {
    F e[Vectors];
    float* scores = tile + j * tile_row;
    unroll<Vectors>([&](auto v)
                        ATTN_INLINED { e[v] = F::load_unaligned(scores + v * kWidth<Isa>); });
    exp2_shifted<Isa, Vectors>(e, rounder, lowest);
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      e[v].store_unaligned(scores + v * kWidth<Isa>);
      sum[v] += e[v];
    });
  }
}

/// totals = totals · factor + sum.
template <class Isa, int Vectors>
ATTN_INLINE void add_sums(const Floats<Isa> (&factor)[Vectors], const Floats<Isa> (&sum)[Vectors],
                          float* totals) noexcept {
  using F = Floats<Isa>;
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    float* total = totals + v * kWidth<Isa>;
    Isa::madd(F::load_unaligned(total), factor[v], sum[v]).store_unaligned(total);
  });
}

}  // namespace attn::kernels
