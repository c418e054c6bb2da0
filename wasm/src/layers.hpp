#pragma once

#include <memory>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"
#include "context.hpp"
#include "tensor_argument.hpp"

/// What layers have in common.
namespace attn::wasm {

enum class Init { kXavier, kIdentity, kZeros, kNormal };

/// The first weights of a layer.
struct FirstWeights {
  Init init = Init::kZeros;
  RandomStream random = {};
};

/// A new layer with its first weights, for JavaScript, which owns it.
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

/// What a layer may be called with besides its inputs. JavaScript fills the same object again for
/// every call.
struct LayerCall {
  AttentionOptions attention = {};  ///< self-attention in decoders
  AttentionOptions cross_attention = {};
  TensorView<const double> positions = {};
  TensorView<const double> key_positions = {};
  Dropout dropout = {};
  std::vector<Tensor> weights = {};  ///< of each layer of a stack, or none
  std::vector<Tensor> cross_weights = {};
  Intermediates* intermediates = nullptr;
};

/// The call as it was filled, or one without anything.
inline const LayerCall& given(const LayerCall* call) {
  static const LayerCall none;
  return call ? *call : none;
}

}  // namespace attn::wasm
