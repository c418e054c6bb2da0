// Optimisers.

#include "attn/training/optimizers.hpp"

#include <emscripten/bind.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "guarded.hpp"
#include "state_dict.hpp"

namespace attn::wasm {
namespace {

/// The state of an optimiser as passed to JavaScript: an array of StateTensor.
struct State : emscripten::val {
  explicit State(const val& array = undefined()) : val(array) {}
};

/// The model that an optimiser trains: its layers by name, and groups of their parameters.
struct TrainedModel {
  std::deque<std::string> names;  ///< layer names; a deque keeps their addresses stable
  std::vector<NamedModule> layers;
  std::vector<ParameterGroup> groups;
};

void add_layer(TrainedModel& model, const std::string& name, Module& layer) {
  model.layers.push_back({model.names.emplace_back(name), layer});
}

/// Converts a number to an optional. NaN becomes an empty optional.
std::optional<double> optional(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

/// Adds a group that contains the parameters `names`.
void add_group(TrainedModel& model, const Texts& names, double learning_rate, double weight_decay) {
  ParameterGroup& group = model.groups.emplace_back();
  group.params = [selected = emscripten::vecFromJSArray<std::string>(names)](std::string_view name,
                                                                             auto) {
    return std::ranges::find(selected, name) != selected.end();
  };
  group.learning_rate = optional(learning_rate);
  group.weight_decay = optional(weight_decay);
}

template <class O, class Options>
O* make(const TrainedModel& model, const Options& given) {
  Options options = given;
  options.groups = model.groups;
  return new O(model.layers, options);
}

void step(Optimizer& optimizer, const Tape& tape) { optimizer.step(tape); }

double learning_rate(const Optimizer& optimizer) { return optimizer.learning_rate(); }

double group_learning_rate(const Optimizer& optimizer, double group) {
  return optimizer.learning_rate(static_cast<std::size_t>(group));
}

void set_learning_rate(Optimizer& optimizer, double rate) { optimizer.set_learning_rate(rate); }

void set_group_learning_rate(Optimizer& optimizer, double rate, double group) {
  optimizer.set_learning_rate(rate, static_cast<std::size_t>(group));
}

/// A tensor of the state. The optimiser owns its memory.
struct StateTensor {
  std::string name;
  std::uintptr_t address = 0;
  Sizes shape;
};

State state(const Optimizer& optimizer) {
  std::vector<StateTensor> entries;
  for (const NamedTensor& tensor : state_dict(optimizer)) {
    const ConstTensor values = tensor.values.as<float>();
    entries.push_back(
        {tensor.name, reinterpret_cast<std::uintptr_t>(values.data()), sizes(values.shape())});
  }
  return State(emscripten::val::array(entries));
}

UnsharedNames load(Optimizer& optimizer, const Safetensors& file, const std::string& prefix,
                   bool strict) {
  return unshared_names(load_state_dict(optimizer, file, prefix, strict));
}

double clip(Tape& tape, double max_norm) { return clip_grad_norm(tape, max_norm); }

template <class Options>
void adam_options(const char* name) {
  emscripten::value_object<Options>(name)
      .field("lr", &Options::learning_rate)
      .field("beta1", &Options::beta1)
      .field("beta2", &Options::beta2)
      .field("eps", &Options::eps)
      .field("weightDecay", &Options::weight_decay);
}

}  // namespace

EMSCRIPTEN_BINDINGS(optimizers) {
  using emscripten::allow_raw_pointers;
  using emscripten::base;
  using emscripten::class_;
  class_<TrainedModel>("TrainedModel")
      .constructor()
      .function("addLayer", guarded<&add_layer>)
      .function("addGroup", guarded<&add_group>);

  emscripten::value_object<SgdOptions>("SgdOptions")
      .field("lr", &SgdOptions::learning_rate)
      .field("momentum", &SgdOptions::momentum)
      .field("dampening", &SgdOptions::dampening)
      .field("weightDecay", &SgdOptions::weight_decay)
      .field("nesterov", &SgdOptions::nesterov);
  adam_options<AdamOptions>("AdamOptions");
  adam_options<AdamWOptions>("AdamWOptions");

  emscripten::register_type<State>("OptimizerStateTensor[]");
  emscripten::value_object<StateTensor>("OptimizerStateTensor")
      .field("name", &StateTensor::name)
      .field("address", &StateTensor::address)
      .field("shape", &StateTensor::shape);

  class_<Optimizer>("Optimizer")
      .function("step", guarded<&step>)
      .function("learningRate", guarded<&learning_rate>)
      .function("setLearningRate", guarded<&set_learning_rate>)
      .function("groupLearningRate", guarded<&group_learning_rate>)
      .function("setGroupLearningRate", guarded<&set_group_learning_rate>)
      .function("state", guarded<&state>)
      .function("loadStateDict", guarded<&load>);
  class_<Sgd, base<Optimizer>>("SGD").constructor(guarded<&make<Sgd, SgdOptions>>,
                                                  allow_raw_pointers());
  class_<Adam, base<Optimizer>>("Adam").constructor(guarded<&make<Adam, AdamOptions>>,
                                                    allow_raw_pointers());
  class_<AdamW, base<Optimizer>>("AdamW").constructor(guarded<&make<AdamW, AdamWOptions>>,
                                                      allow_raw_pointers());

  emscripten::function("clipGradNorm", guarded<&clip>);
}

}  // namespace attn::wasm
