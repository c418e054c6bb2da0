#include "attn/layers/rnn.hpp"

#include "layers/recurrent_layers.hpp"

namespace attn {

RNN::RNN(const RecurrentOptions& options, RecurrentActivation activation)
    : layers_(std::make_shared<RecurrentLayers>(options, 1)), activation_(activation) {
  add_child("", *layers_);
}

const RecurrentOptions& RNN::options() const noexcept { return layers_->options(); }

void RNN::forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
                  Context& context, Intermediates* intermediates) const {
  layers_->forward(x, output, states, &kernels::KernelTable::rnn_cell,
                   activation_ == RecurrentActivation::kRelu, context, intermediates);
}

}  // namespace attn
