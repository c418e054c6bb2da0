#pragma once

#include <memory>

#include "attn/context.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"
#include "context.hpp"
#include "tensor_argument.hpp"

/// What layers have in common.
namespace attn::wasm {

enum class Init { kXavier, kIdentity, kZeros };

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

}  // namespace attn::wasm
