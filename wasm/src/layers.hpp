#pragma once

#include <memory>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"
#include "context.hpp"
#include "tensor_argument.hpp"

/// Helpers shared by the bindings of layers.
namespace attn::wasm {

enum class Init { kXavier, kIdentity, kZeros, kNormal };

/// Settings for initialising the weights of a layer.
struct FirstWeights {
  Init init = Init::kZeros;
  RandomStream random = {};
};

/// Initialises the weights of a new layer and passes the layer to JavaScript, which then owns the
/// layer.
template <class L>
L* initialized(std::unique_ptr<L> layer, const FirstWeights& weights) {
  if (weights.init == Init::kXavier) layer->initialize_xavier(weights.random, context());
  return layer.release();
}

/// Calls a layer with one input, of any element type.
template <class L>
void forward(const L& layer, const TensorArgument& x, const TensorArgument& output) {
  layer.forward(x.elements(), output.result_of_type(), context());
}

/// Optional arguments of a call to a layer. JavaScript reuses one object and fills it for every
/// call.
struct LayerCall {
  AttentionOptions attention = {};  ///< options of attention, or of a decoder's self-attention
  AttentionOptions cross_attention = {};
  TensorView<const double> positions = {};
  TensorView<const double> key_positions = {};
  Dropout dropout = {};
  std::vector<Tensor> weights = {};  ///< a tensor for each layer of a stack, or empty
  std::vector<Tensor> cross_weights = {};
  Intermediates* intermediates = nullptr;
  Interventions interventions = {};
};

/// Returns `*call`, or a LayerCall with the defaults if `call` is null.
inline const LayerCall& given(const LayerCall* call) {
  static const LayerCall none;
  return call ? *call : none;
}

}  // namespace attn::wasm
