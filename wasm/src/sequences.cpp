// Sequence layers: recurrent networks and convolutions.

#include <emscripten/bind.h>

#include <cstdint>
#include <memory>

#include "attn/layers/conv1d.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/rnn.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "layers.hpp"

namespace attn::wasm {
namespace {

GRU* make_gru(const RecurrentOptions& options, const FirstWeights& weights) {
  return initialized(std::make_unique<GRU>(options), weights);
}

RNN* make_rnn(const RecurrentOptions& options, RecurrentActivation activation,
              const FirstWeights& weights) {
  return initialized(std::make_unique<RNN>(options, activation), weights);
}

/// If `h_0` is null, the states start as zeros.
template <class L>
void forward_recurrent(const L& layer, const TensorArgument& x, const TensorArgument& output,
                       const TensorArgument* h_0, const TensorArgument& h_n,
                       const LayerCall* call) {
  RecurrentStates states;
  if (h_0) states.h_0 = h_0->floats();
  states.h_n = h_n.result();
  layer.forward(x.floats(), output.result(), states, context(), given(call).intermediates);
}

Conv1d* make_conv1d(const Conv1dOptions& options, const FirstWeights& weights) {
  return initialized(std::make_unique<Conv1d>(options), weights);
}

double output_length(const Conv1d& layer, double length) {
  return static_cast<double>(layer.output_length(static_cast<std::int64_t>(length)));
}

void convolve(const Conv1d& layer, const TensorArgument& x, const TensorArgument& output) {
  layer.forward(x.floats(), output.result(), context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(sequences) {
  using emscripten::allow_raw_pointers;
  using emscripten::base;
  using emscripten::class_;
  using emscripten::value_object;

  using R = RecurrentOptions;
  value_object<R>("RecurrentOptions")
      .field("inputSize", get_number<&R::input_size>, set_number<&R::input_size>)
      .field("hiddenSize", get_number<&R::hidden_size>, set_number<&R::hidden_size>)
      .field("numLayers", get_number<&R::num_layers>, set_number<&R::num_layers>)
      .field("bias", &R::bias);
  emscripten::enum_<RecurrentActivation>("RecurrentActivation")
      .value("tanh", RecurrentActivation::kTanh)
      .value("relu", RecurrentActivation::kRelu);
  class_<GRU, base<Module>>("GRU")
      .constructor(guarded<&make_gru>)
      .function("forward", guarded<&forward_recurrent<GRU>>, allow_raw_pointers());
  class_<RNN, base<Module>>("RNN")
      .constructor(guarded<&make_rnn>)
      .function("forward", guarded<&forward_recurrent<RNN>>, allow_raw_pointers());

  using C = Conv1dOptions;
  value_object<C>("Conv1dOptions")
      .field("inChannels", get_number<&C::in_channels>, set_number<&C::in_channels>)
      .field("outChannels", get_number<&C::out_channels>, set_number<&C::out_channels>)
      .field("kernelSize", get_number<&C::kernel_size>, set_number<&C::kernel_size>)
      .field("stride", get_number<&C::stride>, set_number<&C::stride>)
      .field("padding", get_number<&C::padding>, set_number<&C::padding>)
      .field("same", &C::same)
      .field("dilation", get_number<&C::dilation>, set_number<&C::dilation>)
      .field("bias", &C::bias);
  class_<Conv1d, base<Module>>("Conv1d")
      .constructor(guarded<&make_conv1d>)
      .function("outputLength", guarded<&output_length>)
      .function("forward", guarded<&convolve>);
}

}  // namespace attn::wasm
