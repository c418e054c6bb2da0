// What all layers have.

#include "attn/layers/module.hpp"

#include <emscripten/bind.h>

#include <cstdint>
#include <string>

#include "arrays.hpp"
#include "guarded.hpp"
#include "layers.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

Texts parameter_names(const Module& module) { return texts(module.parameter_names()); }

Texts intermediate_names(const Module& module) { return texts(module.intermediate_names()); }

Sizes parameter_shape(const Module& module, const std::string& name) {
  return sizes(module.parameter_shape(name));
}

void read_parameter(const Module& module, const std::string& name, const TensorArgument& values) {
  module.read_parameter(name, values.result(), context());
}

void set_parameter(Module& module, const std::string& name, const TensorArgument& values) {
  module.set_parameter(name, values.floats(), context());
}

// Until the old protocol is gone.
std::uintptr_t address(const Module& module) { return reinterpret_cast<std::uintptr_t>(&module); }
Module* module_at(std::uintptr_t address) { return reinterpret_cast<Module*>(address); }

}  // namespace

EMSCRIPTEN_BINDINGS(layers_in_common) {
  emscripten::register_type<Texts>("string[]");
  emscripten::register_type<Sizes>("number[]");

  emscripten::enum_<Init>("Init")
      .value("xavier", Init::kXavier)
      .value("identity", Init::kIdentity)
      .value("zeros", Init::kZeros);
  emscripten::value_object<FirstWeights>("FirstWeights")
      .field("init", &FirstWeights::init)
      .field("random", &FirstWeights::random);

  emscripten::class_<Module>("Module")
      .function("parameterNames", guarded<&parameter_names>)
      .function("intermediateNames", guarded<&intermediate_names>)
      .function("parameterShape", guarded<&parameter_shape>)
      .function("readParameter", guarded<&read_parameter>)
      .function("setParameter", guarded<&set_parameter>)
      .function("address", &address);
  emscripten::function("moduleAt", &module_at, emscripten::allow_raw_pointers());
}

}  // namespace attn::wasm
