#pragma once

// The part of a recurrent step after the matrix products.

#include "kernels/row_args.hpp"
#include "kernels/tanh.hpp"

namespace attn::kernels {

/// r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r·h_n), next = (1 − z)·n + z·state.
template <class Isa>
void gru_cell(const RecurrentCellArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.from_input + i * p.from_input_row;
    const float* h = p.from_state + i * p.from_state_row;
    for (index c = 0; c < p.hidden; c += kWidth<Isa>) {
      const auto at = [&](const float* row, int gate)
                          ATTN_INLINED { return F::load_unaligned(row + gate * p.hidden + c); };
      const F reset = sigmoid<Isa>(at(x, 0) + at(h, 0));
      const F update = sigmoid<Isa>(at(x, 1) + at(h, 1));
      const F candidate = tanh<Isa>(Isa::madd(reset, at(h, 2), at(x, 2)));
      const F state = F::load_unaligned(p.state + i * p.state_row + c);
      Isa::madd(update, state - candidate, candidate)
          .store_unaligned(p.next_state + i * p.state_row + c);
    }
  }
}

/// next = tanh(x + h), or max(x + h, 0), which keeps NaN.
template <class Isa>
void rnn_cell(const RecurrentCellArgs& p) noexcept {
  using F = Floats<Isa>;
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.from_input + i * p.from_input_row;
    const float* h = p.from_state + i * p.from_state_row;
    for (index c = 0; c < p.hidden; c += kWidth<Isa>) {
      const F sum = F::load_unaligned(x + c) + F::load_unaligned(h + c);
      const F next = p.relu ? Isa::at_least(sum, F(0.0F)) : tanh<Isa>(sum);
      next.store_unaligned(p.next_state + i * p.state_row + c);
    }
  }
}

}  // namespace attn::kernels
