#include "attn/io/state_dict.hpp"

#include <algorithm>
#include <cstddef>

#include "heap_sort.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Names listed in an error message, at most, of each kind.
constexpr std::size_t kNamesShown = 16;

std::string with_prefix(std::string_view prefix, const std::string& name) {
  return std::string(prefix) + name;
}

/// "a, b and 3 more"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    text.append(i > 0 ? ", " : "").append(names[i]);
  }
  if (names.size() > kNamesShown) {
    text.append(" and ").append(std::to_string(names.size() - kNamesShown)).append(" more");
  }
  return text;
}

IncompatibleKeys compare_names(const std::vector<std::string>& names, const Safetensors& file,
                               std::string_view prefix) {
  IncompatibleKeys result;
  std::vector<std::string> known;
  for (const std::string& name : names) {
    known.push_back(with_prefix(prefix, name));
    if (!file.contains(known.back())) result.missing_keys.push_back(known.back());
  }
  heap_sort(known);
  for (const SafetensorsEntry& entry : file.tensors()) {
    if (entry.name.starts_with(prefix) && !std::ranges::binary_search(known, entry.name)) {
      result.unexpected_keys.push_back(entry.name);
    }
  }
  return result;
}

}  // namespace

std::vector<NamedTensor> state_dict(const Module& module, std::string_view prefix) {
  std::vector<NamedTensor> result;
  for (const std::string& name : module.parameter_names()) {
    result.push_back({with_prefix(prefix, name), module.parameter(name)});
  }
  return result;
}

IncompatibleKeys load_state_dict(Module& module, const Safetensors& file, std::string_view prefix,
                                 bool strict, Context& context) {
  const std::vector<std::string> names = module.parameter_names();
  IncompatibleKeys keys = compare_names(names, file, prefix);
  if (strict && !(keys.missing_keys.empty() && keys.unexpected_keys.empty())) {
    std::string got;
    if (!keys.missing_keys.empty()) got += "no " + listed(keys.missing_keys);
    if (!keys.unexpected_keys.empty()) {
      got += (got.empty() ? "the unknown " : " and the unknown ") + listed(keys.unexpected_keys);
    }
    validation::fail(ErrorCode::kNotFound, "state_dict", {got},
                     {"this module's parameters and no others"});
  }

  std::size_t largest = 0;
  for (const std::string& name : names) {
    const std::string full_name = with_prefix(prefix, name);
    if (!file.contains(full_name)) continue;
    const SafetensorsEntry& entry = file.entry(full_name);
    const ConstTensor target = module.parameter(name);
    if (!std::ranges::equal(entry.shape, target.shape())) {
      validation::fail_shape(full_name, entry.shape, {"shape ", target.shape()});
    }
    Safetensors::require_readable(entry);
    largest =
        std::max(largest, static_cast<std::size_t>(validation::product(name, target.shape())));
  }
  // One buffer for all, taken before anything is set.
  std::vector<float> values;
  values.resize(largest);
  for (const std::string& name : names) {
    const std::string full_name = with_prefix(prefix, name);
    if (!file.contains(full_name)) continue;
    const ConstTensor target = module.parameter(name);
    const Tensor buffer(values.data(), target.shape());
    file.read(full_name, buffer);
    module.set_parameter(name, buffer, context);
  }
  return keys;
}

}  // namespace attn
