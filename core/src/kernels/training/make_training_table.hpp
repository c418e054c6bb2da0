#pragma once

#include "kernels/training/activation_gradient.hpp"
#include "kernels/training/attention_gradient.hpp"
#include "kernels/training/column_sums.hpp"
#include "kernels/training/cross_entropy.hpp"
#include "kernels/training/differences.hpp"
#include "kernels/training/multiply.hpp"
#include "kernels/training/norm_gradient.hpp"
#include "kernels/training/optimizers.hpp"
#include "kernels/training/pooling_gradient.hpp"
#include "kernels/training/recurrent_gradient.hpp"
#include "kernels/training/row_dots.hpp"
#include "kernels/training/training_table.hpp"

namespace attn::kernels {

/// The training table of one instruction set; see make_table for what `Isa` provides.
template <class Isa>
constexpr TrainingTable make_training_table() noexcept {
  return {
      .instruction_set = Isa::kInstructionSet,
      .gradient_queries = kBlockQueries,
      .gradient_keys = &gradient_keys<Isa>,
      .padded_row = &padded_row<Isa>,
      .row_dots = &row_dots<Isa>,
      .column_sums = &column_sums<Isa>,
      .sum_of_squares = &sum_of_squares<Isa>,
      .scaled_difference = &scaled_difference<Isa>,
      .multiply = &multiply<Isa>,
      .cross_entropy = &cross_entropy<Isa>,
      .sgd = &sgd<Isa>,
      .adam = &adam<Isa>,
      .activation_gradient = &choose_activation_gradient<Isa>,
      .norm_gradient = &norm_gradient<Isa>,
      .gru_cell_gradient = &gru_cell_gradient<Isa>,
      .rnn_cell_gradient = &rnn_cell_gradient<Isa>,
      .weight_gradient = &weight_gradient<Isa>,
      .pair_sums = &sum_pairs<Isa>,
      .load_keys = &load_keys<Isa>,
      .attention_gradient_scratch = &attention_gradient_scratch<Isa>,
      .backpropagate_attention = &backpropagate_attention<Isa>,
  };
}

}  // namespace attn::kernels
