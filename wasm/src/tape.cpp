// Tapes and their variables.

#include "attn/training/tape.hpp"

#include <emscripten/bind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "attn/layers/module.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

/// Address of a tensor, or 0 if there is none.
std::uintptr_t address_of(const ConstTensor& tensor) {
  lend(tensor);
  return reinterpret_cast<std::uintptr_t>(tensor.data());
}

// Variables

std::uintptr_t address(const Variable& variable) { return address_of(variable.value()); }
int rank(const Variable& variable) { return variable.rank(); }
double size(const Variable& variable, int dimension) {
  return static_cast<double>(variable.size(dimension));
}
std::uintptr_t gradient(const Variable& variable) { return address_of(variable.gradient()); }

// Tapes

Tape* make_tape() { return new Tape(context()); }

void clear_keeping_gradients(Tape& tape) { tape.clear_keeping_gradients(); }

Variable make_variable(Tape& tape, const TensorArgument& values) {
  return tape.variable(values.floats());
}

Variable make_constant(Tape& tape, const TensorArgument& values) {
  return tape.constant(values.floats());
}

Variable parameter(Tape& tape, const Module& layer, const std::string& name) {
  return tape.parameter(layer, name);
}

void watch(Tape& tape, const Module& layer, const Texts& names) {
  tape.watch(layer, emscripten::vecFromJSArray<std::string>(names));
}

Variable intermediate(const Tape& tape, const Module& layer, const std::string& name) {
  return tape.intermediate(layer, name);
}

/// `gradient` is null if the output is a loss.
void backward(Tape& tape, const Variable& output, const TensorArgument* gradient) {
  if (!gradient) return tape.backward(output);
  tape.backward(output, gradient->floats());
}

/// The gradient has the shape of the parameter.
std::uintptr_t parameter_gradient(const Tape& tape, const Module& layer, const std::string& name) {
  return address_of(tape.gradient(layer, name));
}

}  // namespace

EMSCRIPTEN_BINDINGS(tape) {
  using emscripten::allow_raw_pointers;
  emscripten::class_<Variable>("Variable")
      .function("isNone", &Variable::is_none)
      .function("address", guarded<&address>)
      .function("rank", guarded<&rank>)
      .function("size", guarded<&size>)
      .function("gradient", guarded<&gradient>);
  emscripten::class_<Tape>("Tape")
      .constructor(guarded<&make_tape>, allow_raw_pointers())
      .function("clear", &Tape::clear)
      .function("clearKeepingGradients", guarded<&clear_keeping_gradients>)
      .function("variable", guarded<&make_variable>)
      .function("constant", guarded<&make_constant>)
      .function("parameter", guarded<&parameter>)
      .function("watch", guarded<&watch>)
      .function("intermediate", guarded<&intermediate>)
      .function("backward", guarded<&backward>, allow_raw_pointers())
      .function("gradient", guarded<&parameter_gradient>);
}

}  // namespace attn::wasm
