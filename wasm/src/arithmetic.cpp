// Matrix products and activations.

#include <emscripten/bind.h>

#include "attn/layers/activation.hpp"
#include "attn/matmul.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

void multiply(const TensorArgument& left, const TensorArgument& right,
              const TensorArgument& output) {
  matmul(left.floats(), right.floats(), output.result(), context());
}

void activate(const TensorArgument& x, const TensorArgument& output, Activation activation) {
  apply_activation(x.floats(), output.result(), activation, context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(arithmetic) {
  using emscripten::function;
  emscripten::enum_<Activation>("Activation")
      .value("relu", Activation::kRelu)
      .value("gelu", Activation::kGelu)
      .value("geluTanh", Activation::kGeluTanh)
      .value("silu", Activation::kSilu)
      .value("tanh", Activation::kTanh)
      .value("sigmoid", Activation::kSigmoid);
  function("matmul", guarded<&multiply>);
  function("applyActivation", guarded<&activate>);
}

}  // namespace attn::wasm
