#include "attn/layers/gru.hpp"

#include "layers/recurrent_layers.hpp"

namespace attn {

GRU::GRU(const RecurrentOptions& options) : layers_(std::make_shared<RecurrentLayers>(options, 3)) {
  add_child("", *layers_);
}

const RecurrentOptions& GRU::options() const noexcept { return layers_->options(); }

void GRU::forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
                  Context& context, Intermediates* intermediates) const {
  layers_->forward(x, output, states, &kernels::KernelTable::gru_cell, false, context,
                   intermediates);
}

}  // namespace attn
