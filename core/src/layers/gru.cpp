#include "attn/layers/gru.hpp"

#include "layers/module_initialization.hpp"
#include "layers/recurrent_layers.hpp"

namespace attn {

GRU::GRU(const RecurrentOptions& options)
    : layers_(std::make_unique<RecurrentLayers>(options, 3)) {}

GRU::~GRU() = default;
GRU::GRU(GRU&&) noexcept = default;
GRU& GRU::operator=(GRU&&) noexcept = default;

const RecurrentOptions& GRU::options() const noexcept { return layers_->options(); }

std::vector<std::string> GRU::parameter_names() const { return layers_->parameters().names(); }

ConstTensor GRU::parameter(std::string_view name) const { return layers_->parameters().get(name); }

void GRU::set_parameter(std::string_view name, const ConstTensor& values) {
  layers_->set_parameter(name, values);
}

void GRU::initialize_xavier(const RandomStream& random, Context& context) {
  initialize_parameters(*this, random, context);
}

void GRU::forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states,
                  Context& context) const {
  layers_->forward(x, output, states, &kernels::KernelTable::gru_cell, false, context);
}

}  // namespace attn
