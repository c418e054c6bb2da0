#include "training/recorded.hpp"

#include "attn/io/safetensors.hpp"

namespace attn_test {
namespace {

attn::Safetensors file(const std::string& name) {
  return attn::Safetensors::load(ATTN_TEST_RECORDED "/" + name + ".safetensors");
}

/// The arrays whose names begin with `prefix`, keyed by the rest of their names.
RecordedArrays arrays(const attn::Safetensors& file, const std::string& prefix) {
  RecordedArrays result;
  for (const attn::SafetensorsEntry& entry : file.tensors()) {
    if (!entry.name.starts_with(prefix)) continue;
    result[entry.name.substr(prefix.size())] = reference::Array(entry.shape, file.read(entry.name));
  }
  return result;
}

}  // namespace

Trajectories recorded_trajectories() {
  const attn::Safetensors from = file("trajectories");
  Trajectories result;
  result.initial = arrays(from, "initial.");
  result.tokens = arrays(from, "tokens").at("");
  for (const char* name : {"sgd", "sgd_weight_decay", "sgd_nesterov", "adam", "adamw"}) {
    const RecordedArrays all = arrays(from, std::string(name) + ".");
    result.runs[name] = {all.at("losses"), all.at("norms"),
                         arrays(from, std::string(name) + ".final.")};
  }
  return result;
}

RecordedGradient recorded_gradient(const std::string& operation) {
  const attn::Safetensors from = file("gradients");
  return {arrays(from, operation + ".input."), arrays(from, operation + ".output."),
          arrays(from, operation + ".output_gradient."), arrays(from, operation + ".gradient.")};
}

}  // namespace attn_test
