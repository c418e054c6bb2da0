#include "attn/layers/rnn.hpp"

#include "layers/module_initialization.hpp"
#include "layers/recurrent_layers.hpp"

namespace attn {

RNN::RNN(const RecurrentOptions& options, RecurrentActivation activation)
    : layers_(std::make_unique<RecurrentLayers>(options, 1)), activation_(activation) {}

RNN::~RNN() = default;
RNN::RNN(RNN&&) noexcept = default;
RNN& RNN::operator=(RNN&&) noexcept = default;

const RecurrentOptions& RNN::options() const noexcept { return layers_->options(); }

std::vector<std::string> RNN::parameter_names() const { return layers_->parameters().names(); }

ConstTensor RNN::parameter(std::string_view name) const { return layers_->parameters().get(name); }

void RNN::set_parameter(std::string_view name, const ConstTensor& values) {
  layers_->set_parameter(name, values);
}

void RNN::initialize_xavier(const RandomStream& random, Context& context) {
  initialize_parameters(*this, random, context);
}

void RNN::forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
                  Context& context) const {
  layers_->forward(x, output, states, &kernels::KernelTable::rnn_cell,
                   activation_ == RecurrentActivation::kRelu, context);
}

}  // namespace attn
