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

/// The shared parts of recurrent layers: parameters, products and the order of steps. Layers differ
/// in the number of gates and in the cell that turns products into the next state.
class RecurrentLayers : public Module {
 public:
  using Cell = void (*)(const kernels::RecurrentCellArgs&) noexcept;

  RecurrentLayers(const RecurrentOptions& options, std::int64_t gates);

  const RecurrentOptions& options() const noexcept { return options_; }

  /// `cell` is a member of kernels::KernelTable; the kernel receives `relu`. If `between` is given,
  /// the outputs of all layers except the last are written to it: (num_layers − 1, B, N, H).
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
               Cell kernels::KernelTable::* cell, bool relu, Context& context,
               Intermediates* intermediates, const Tensor& between = {}) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. `layer` is the
  /// module that has the parameters, and `name` is its name in error messages.
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
