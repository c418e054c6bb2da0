#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/layers/parameters.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/tensor_view.hpp"
#include "kernels/kernel_table.hpp"
#include "layers/packed_matrix.hpp"

namespace attn {

/// What recurrent layers have in common: parameters, products and the order of steps. They differ
/// in the number of gates and in the cell that turns products into the next state.
class RecurrentLayers {
 public:
  using Cell = void (*)(const kernels::RecurrentCellArgs&) noexcept;

  RecurrentLayers(const RecurrentOptions& options, std::int64_t gates);

  const RecurrentOptions& options() const noexcept { return options_; }
  const Parameters& parameters() const noexcept { return parameters_; }
  void set_parameter(std::string_view name, const ConstTensor& values);

  /// `cell` is one of kernels::KernelTable, `relu` what it is told.
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
               Cell kernels::KernelTable::* cell, bool relu, Context& context) const;

 private:
  struct Layer {
    PackedMatrix from_input, from_state;
  };
  const float* bias(const char* kind, std::int64_t layer) const;

  RecurrentOptions options_;
  std::int64_t gates_;
  Parameters parameters_;
  std::vector<Layer> layers_;
};

}  // namespace attn
