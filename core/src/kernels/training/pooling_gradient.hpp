#pragma once

#include <algorithm>

#include "kernels/tanh.hpp"
#include "kernels/training/activation_gradient.hpp"
#include "kernels/training/part.hpp"
#include "kernels/training/pooling_gradient_args.hpp"

namespace attn::kernels {

template <class Isa>
void weight_gradient(const WeightGradientArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kBlock = 64 * kW;
  const F zero(0.0F), per_width(1.0F / p.width);
  for (index i = 0; i < p.rows; ++i) {
    const index row = i * p.cols;
    const auto load = [&](const float* from, index c)
                          ATTN_INLINED { return load_up_to<Isa>(from + row + c, p.cols - c); };
    const auto store = [&](F x, float* to, index c)
                           ATTN_INLINED { store_up_to<Isa>(x, to + row + c, p.cols - c); };
    // Blocks are summed separately, so that rounding errors grow slowly.
    const auto sum_of = [&](auto term) ATTN_INLINED {
      F total(0.0F);
      for (index begin = 0; begin < p.cols; begin += kBlock) {
        F sum(0.0F);
        for (index c = begin; c < std::min(p.cols, begin + kBlock); c += kW) sum += term(c);
        total += sum;
      }
      return xsimd::reduce_add(total);
    };
    const F mean(sum_of([&](index c) ATTN_INLINED {
      const F w = load(p.weights, c);
      return xsimd::select(w == zero, zero, w * load(p.weight_gradient, c));
    }));
    const float width_sum = sum_of([&](index c) ATTN_INLINED {
      const F w = load(p.weights, c);
      const F dw = load(p.weight_gradient, c);
      const auto none = w == zero;
      if (p.selected) store(xsimd::select(none, zero, dw), p.selected, c);
      F gradient = xsimd::select(none, zero, w * (dw - mean));
      F of_width = zero;
      if (p.pair == PairWeight::kGaussian) {
        const F square = load(p.scores, c) * F(-0.5F);
        of_width = xsimd::select(none, zero, gradient * (square * per_width * per_width));
        gradient = gradient * per_width * per_width;
      } else if (p.pair == PairWeight::kEpanechnikov) {
        const F distance = xsimd::sqrt(load(p.scores, c) * F(-0.5F));
        const F units = distance * per_width;
        const F of_score = gradient / (F(1.0F) - units);
        of_width = xsimd::select(none, zero, of_score * units);
        gradient = xsimd::select(none | (distance == zero), zero, of_score * per_width / distance);
      }
      store(gradient, p.gradient, c);
      return of_width;
    });
    if (p.width_sums) p.width_sums[i] = width_sum;
  }
}

/// Computes columns [col, col + Vectors · width) of a row of sums. load(from) and store(x, to)
/// access whole vectors or partial ones. Blocks of 64 pairs are summed separately, so that rounding
/// errors grow slowly.
template <class Isa, PairTerm Term, int Vectors, class Load, class Store>
ATTN_INLINE void sum_pair_columns(const PairSumsArgs& p, index row, index col, Load load,
                                  Store store) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr index kBlock = 64;
  constexpr bool kTanh = Term == PairTerm::kTanh;
  const float* factors = p.factors.at(row);
  const index own = row * p.cols + col;
  F y[Vectors], total[Vectors], tanh_total[Vectors];
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    total[v] = tanh_total[v] = F(0.0F);
    y[v] = Term == PairTerm::kOther ? F(0.0F) : load(p.y + own + v * kW);
  });
  for (index begin = 0; begin < p.count; begin += kBlock) {
    F sum[Vectors], tanh_sum[Vectors];
    unroll<Vectors>([&](auto v) ATTN_INLINED { sum[v] = tanh_sum[v] = F(0.0F); });
    for (index n = begin; n < std::min(p.count, begin + kBlock); ++n) {
      const float factor = factors[n * p.factors.col];
      if (factor == 0.0F) continue;
      unroll<Vectors>([&](auto v) ATTN_INLINED {
        F x = load(p.x + n * p.cols + col + v * kW);
        if constexpr (Term == PairTerm::kDifference) x -= y[v];
        if constexpr (kTanh) {
          x += y[v];
          if (p.tanh_sums) tanh_sum[v] = Isa::madd(F(factor), tanh<Isa>(x), tanh_sum[v]);
          const auto [t, r] = sigmoid_parts<Isa>(x + x);
          x = F(4.0F) * t * r * r;
        }
        sum[v] = Isa::madd(F(factor), x, sum[v]);
      });
    }
    unroll<Vectors>([&](auto v) ATTN_INLINED {
      total[v] += sum[v];
      tanh_total[v] += tanh_sum[v];
    });
  }
  unroll<Vectors>([&](auto v) ATTN_INLINED {
    if constexpr (kTanh) {
      if (p.tanh_sums) store(tanh_total[v], p.tanh_sums + own + v * kW);
      total[v] *= load(p.column_weights + col + v * kW);
    }
    store(total[v], p.sums + own + v * kW);
  });
}

template <class Isa, PairTerm Term>
void sum_pair_rows(const PairSumsArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  constexpr int kVectors = 4;
  const auto load = [](const float* from) ATTN_INLINED { return F::load_unaligned(from); };
  const auto store = [](F x, float* to) ATTN_INLINED { x.store_unaligned(to); };
  for (index row = 0; row < p.rows; ++row) {
    index col = 0;
    if constexpr (Term != PairTerm::kTanh) {  // with kTanh, computing takes longer than loading
      for (; col + kVectors * kW <= p.cols; col += kVectors * kW) {
        sum_pair_columns<Isa, Term, kVectors>(p, row, col, load, store);
      }
    }
    for (; col < p.cols; col += kW) {
      const index rest = p.cols - col;
      sum_pair_columns<Isa, Term, 1>(
          p, row, col, [&](const float* from) ATTN_INLINED { return load_up_to<Isa>(from, rest); },
          [&](F x, float* to) ATTN_INLINED { store_up_to<Isa>(x, to, rest); });
    }
  }
}

template <class Isa>
void sum_pairs(const PairSumsArgs& p) noexcept {
  switch (p.term) {
    case PairTerm::kOther:
      return sum_pair_rows<Isa, PairTerm::kOther>(p);
    case PairTerm::kDifference:
      return sum_pair_rows<Isa, PairTerm::kDifference>(p);
    case PairTerm::kTanh:
      return sum_pair_rows<Isa, PairTerm::kTanh>(p);
  }
}

}  // namespace attn::kernels
