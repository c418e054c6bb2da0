#pragma once

#include "kernels/tanh.hpp"
#include "kernels/training/activation_gradient.hpp"
#include "kernels/training/part.hpp"
#include "kernels/training/training_args.hpp"

namespace attn::kernels {

/// Calls cell(c, load, store) for the vectors of a row; the last one may be partial.
template <class Isa, class Cell>
ATTN_INLINE void for_columns(index hidden, Cell cell) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  for (index c = 0; c < hidden; c += kW) {
    const index count = hidden - c;
    cell([&](const float* row) ATTN_INLINED { return load_up_to<Isa>(row + c, count); },
         [&](F x, float* row) ATTN_INLINED { store_up_to<Isa>(x, row + c, count); });
  }
}

/// σ(x), 1 − σ(x) and σ'(x), all without cancellation.
template <class Isa>
struct GateParts {
  using F = Floats<Isa>;
  F value, rest, slope;

  explicit ATTN_INLINE GateParts(F x) noexcept {
    const auto [t, r] = sigmoid_parts<Isa>(x);
    const F far = t * r;
    const auto below = x < F(0.0F);
    value = xsimd::select(below, far, r);
    rest = xsimd::select(below, r, far);
    slope = far * r;
  }
};

/// With r, z and n of gru_cell, h_n the candidate's part of the state, and p the argument of tanh:
///   dp = dh·(1 − z)·(1 − n²), dr = dp·h_n·r·(1 − r), dz = dh·(state − n)·z·(1 − z).
/// If dh is 0, all three are 0, even if the forward pass produced infinities or NaN.
template <class Isa>
void gru_cell_gradient(const RecurrentCellGradientArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    float* x = p.from_input + i * p.from_input_row;
    float* h = p.from_state + i * p.from_state_row;
    float* carried = p.carried + i * p.hidden;
    const float* dy = p.output_gradient + i * p.output_gradient_row;
    for_columns<Isa>(p.hidden, [&](auto load, auto store) ATTN_INLINED {
      const auto at = [&](const float* row, int gate)
                          ATTN_INLINED { return load(row + gate * p.hidden); };
      const F dh = load(dy) + load(carried);
      const auto none = dh == F(0.0F);
      const auto selected = [&](F g) ATTN_INLINED { return xsimd::select(none, dh, g); };
      const GateParts<Isa> reset(at(x, 0) + at(h, 0)), update(at(x, 1) + at(h, 1));
      const F from_state = at(h, 2);
      F candidate, dp;
      TanhGradient::apply<Isa>(Isa::madd(reset.value, from_state, at(x, 2)), dh * update.rest,
                               candidate, dp);
      const F dr = selected(dp * from_state * reset.slope);
      const F dz = selected(dh * (load(p.state + i * p.state_row) - candidate) * update.slope);
      const auto to = [&](F g, float* row, int gate)
                          ATTN_INLINED { store(g, row + gate * p.hidden); };
      to(dr, x, 0);
      to(dz, x, 1);
      to(selected(dp), x, 2);
      to(dr, h, 0);
      to(dz, h, 1);
      to(selected(dp * reset.value), h, 2);
      store(selected(dh * update.value), carried);
    });
  }
}

/// dp = dh·f'(p), where p is the argument of f; 0 if dh is 0.
template <class Isa>
void rnn_cell_gradient(const RecurrentCellGradientArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    float* x = p.from_input + i * p.from_input_row;
    float* h = p.from_state + i * p.from_state_row;
    float* carried = p.carried + i * p.hidden;
    const float* dy = p.output_gradient + i * p.output_gradient_row;
    for_columns<Isa>(p.hidden, [&](auto load, auto store) ATTN_INLINED {
      const F sum = load(x) + load(h);
      const F dh = load(dy) + load(carried);
      F value, gradient;
      if (p.relu) {
        ReluGradient::apply<Isa>(sum, dh, value, gradient);
      } else {
        TanhGradient::apply<Isa>(sum, dh, value, gradient);
      }
      gradient = xsimd::select(dh == F(0.0F), dh, gradient);
      store(gradient, x);
      store(gradient, h);
      store(F(0.0F), carried);
    });
  }
}

}  // namespace attn::kernels
