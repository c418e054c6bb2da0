#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attn/context.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/tensor_view.hpp"
#include "kernels/kernel_table.hpp"
#include "layers/packed_matrix.hpp"

namespace attn {

class Variable;

/// What recurrent layers have in common: parameters, products and the order of steps. They differ
/// in the number of gates and in the cell that turns products into the next state.
class RecurrentLayers : public Module {
 public:
  using Cell = void (*)(const kernels::RecurrentCellArgs&) noexcept;

  RecurrentLayers(const RecurrentOptions& options, std::int64_t gates);

  const RecurrentOptions& options() const noexcept { return options_; }

  /// `cell` is one of kernels::KernelTable, `relu` what it is told. `between`, if given, takes the
  /// outputs of all layers but the last: (num_layers − 1, B, N, H).
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
               Cell kernels::KernelTable::* cell, bool relu, Context& context,
               Intermediates* intermediates, const Tensor& between = {}) const;

  /// The same on a tape, of the `layer` that `name` calls.
  Variable forward(const Variable& x, const Variable& h_0, Variable* h_n,
                   Cell kernels::KernelTable::* cell, bool relu, const char* name,
                   const Module& layer) const;

 private:
  friend class RecurrentStep;
  struct Layer {
    Tensor input_weight, state_weight;
    std::shared_ptr<PackedMatrix> from_input, from_state;
    Tensor input_bias = {}, state_bias = {};
  };

  RecurrentOptions options_;
  std::int64_t gates_;
  std::vector<Layer> layers_;
};

}  // namespace attn
