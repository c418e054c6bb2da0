// Members that all layers share.

#include "attn/layers/module.hpp"

#include <emscripten/bind.h>

#include <cstdint>
#include <string>

#include "arrays.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "layers.hpp"
#include "state_dict.hpp"
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

Intermediates* make_intermediates(const Texts& names) {
  return new Intermediates(emscripten::vecFromJSArray<std::string>(names));
}

bool has(const Intermediates& shown, const std::string& name) { return shown.contains(name); }

Sizes shape_of(const Intermediates& shown, const std::string& name) {
  return sizes(shown[name].shape());
}

std::uintptr_t address_of(const Intermediates& shown, const std::string& name) {
  return reinterpret_cast<std::uintptr_t>(shown[name].data());
}

void reset(LayerCall& call) { call = {}; }
void set_attention(LayerCall& call, const AttentionOptions& options) { call.attention = options; }
void set_cross_attention(LayerCall& call, const AttentionOptions& options) {
  call.cross_attention = options;
}
void set_positions(LayerCall& call, const TensorArgument& positions) {
  call.positions = positions.as<const double>();
}
void set_key_positions(LayerCall& call, const TensorArgument& positions) {
  call.key_positions = positions.as<const double>();
}
void add_weights(LayerCall& call, const TensorArgument& weights) {
  call.weights.push_back(weights.result());
}
void add_cross_weights(LayerCall& call, const TensorArgument& weights) {
  call.cross_weights.push_back(weights.result());
}
void set_intermediates(LayerCall& call, Intermediates* shown) { call.intermediates = shown; }
void ablate(LayerCall& call, const std::string& name, bool to_mean, const ValuePart& part) {
  call.interventions.ablate(name, to_mean ? Ablation::kMean : Ablation::kZero, part);
}
void patch(LayerCall& call, const std::string& name, const TensorArgument& values,
           const ValuePart& part) {
  call.interventions.patch(name, values.floats(), part);
}
/// `place` contains the head, if any, and the position of the query.
void knock_out(LayerCall& call, const std::string& attention, const ValuePart& place, double key) {
  call.interventions.knock_out(attention, place.head, *place.position,
                               static_cast<std::int64_t>(key));
}

}  // namespace

EMSCRIPTEN_BINDINGS(layers_in_common) {
  using emscripten::allow_raw_pointers;
  using emscripten::class_;
  emscripten::register_type<Texts>("string[]");
  emscripten::register_type<Sizes>("number[]");
  emscripten::register_type<Numbers>("ArrayLike<number>");

  emscripten::enum_<Init>("Init")
      .value("xavier", Init::kXavier)
      .value("identity", Init::kIdentity)
      .value("zeros", Init::kZeros)
      .value("normal", Init::kNormal);
  emscripten::value_object<FirstWeights>("FirstWeights")
      .field("init", &FirstWeights::init)
      .field("random", &FirstWeights::random);

  emscripten::value_object<ValuePart>("ValuePart")
      .field("head", get_number<&ValuePart::head>, set_number<&ValuePart::head>)
      .field("position", get_number<&ValuePart::position>, set_number<&ValuePart::position>);

  class_<Module>("Module")
      .function("parameterNames", guarded<&parameter_names>)
      .function("intermediateNames", guarded<&intermediate_names>)
      .function("parameterShape", guarded<&parameter_shape>)
      .function("readParameter", guarded<&read_parameter>)
      .function("setParameter", guarded<&set_parameter>)
      .function("loadStateDict", guarded<&load_state>);

  class_<Intermediates>("Intermediates")
      .constructor(guarded<&make_intermediates>)
      .function("has", &has)
      .function("shape", guarded<&shape_of>)
      .function("addressOf", guarded<&address_of>);

  class_<LayerCall>("LayerCall")
      .constructor()
      .function("reset", &reset)
      .function("setAttention", &set_attention)
      .function("setCrossAttention", &set_cross_attention)
      .function("setPositions", &set_positions)
      .function("setKeyPositions", &set_key_positions)
      .property("dropout", &LayerCall::dropout)
      .function("addWeights", guarded<&add_weights>)
      .function("addCrossWeights", guarded<&add_cross_weights>)
      .function("setIntermediates", &set_intermediates, allow_raw_pointers())
      .function("ablate", guarded<&ablate>)
      .function("patch", guarded<&patch>)
      .function("knockOut", guarded<&knock_out>);
}

}  // namespace attn::wasm
