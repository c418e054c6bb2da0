#include "attn/io/state_dict.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "heap_sort.hpp"
#include "io/load_named_tensors.hpp"
#include "validation.hpp"

namespace attn {
namespace {

std::string with_prefix(std::string_view prefix, const std::string& name) {
  return std::string(prefix) + name;
}

IncompatibleKeys compare_names(std::span<const NamedTensor> targets, const Safetensors& file,
                               std::string_view prefix) {
  IncompatibleKeys result;
  std::vector<std::string> known;
  for (const NamedTensor& target : targets) {
    known.push_back(target.name);
    if (!file.contains(target.name)) result.missing_keys.push_back(target.name);
  }
  heap_sort(known);
  for (const SafetensorsEntry& entry : file.tensors()) {
    if (entry.name.starts_with(prefix) && !std::ranges::binary_search(known, entry.name)) {
      result.unexpected_keys.push_back(entry.name);
    }
  }
  return result;
}

/// Copies a parameter that is stored as T.
template <class T>
NamedTensor copy_of(const Module& module, std::string_view name, std::string full_name) {
  const auto shape = module.parameter_shape(name);
  const std::int64_t count = validation::product(name, shape);
  const auto copy = std::make_shared<std::vector<T>>(static_cast<std::size_t>(count));
  const TensorView<T> values(copy->data(), shape);
  module.read_parameter(name, values);
  return {std::move(full_name), TensorView<const T>(values), copy};
}

}  // namespace

std::vector<NamedTensor> state_dict(const Module& module, std::string_view prefix) {
  std::vector<NamedTensor> result;
  for (const std::string& name : module.parameter_names()) {
    std::string full_name = with_prefix(prefix, name);
    switch (module.parameter_type(name)) {
      case ElementType::kFloat16:
        result.push_back(copy_of<Float16>(module, name, std::move(full_name)));
        break;
      case ElementType::kBFloat16:
        result.push_back(copy_of<BFloat16>(module, name, std::move(full_name)));
        break;
      default:
        result.push_back({std::move(full_name), module.parameter(name)});
    }
  }
  return result;
}

IncompatibleKeys load_named_tensors(std::span<const NamedTensor> targets, const char* owner,
                                    const Safetensors& file, std::string_view prefix, bool strict,
                                    const std::function<void(std::size_t, const Tensor&)>& set) {
  IncompatibleKeys keys = compare_names(targets, file, prefix);
  if (strict && !(keys.missing_keys.empty() && keys.unexpected_keys.empty())) {
    std::string got;
    if (!keys.missing_keys.empty()) got += "no " + validation::list_names(keys.missing_keys);
    if (!keys.unexpected_keys.empty()) {
      got += (got.empty() ? "the unexpected " : " and the unexpected ") +
             validation::list_names(keys.unexpected_keys);
    }
    validation::fail(ErrorCode::kNotFound, "state_dict", {got}, {"exactly ", owner});
  }

  std::size_t largest = 0;
  for (const NamedTensor& target : targets) {
    if (!file.contains(target.name)) continue;
    const SafetensorsEntry& entry = file.entry(target.name);
    const std::span<const std::int64_t> shape = target.values.shape();
    if (!std::ranges::equal(entry.shape, shape)) {
      validation::fail_shape(target.name, entry.shape, {"shape ", shape});
    }
    Safetensors::require_readable(entry);
    largest = std::max(largest, static_cast<std::size_t>(validation::product(target.name, shape)));
  }
  // The tensors are read into one buffer, one after another. The buffer is allocated before the
  // first call of `set`, so no target has changed if this allocation fails.
  std::vector<float> values;
  values.resize(largest);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!file.contains(targets[i].name)) continue;
    const Tensor buffer(values.data(), targets[i].values.shape());
    file.read(targets[i].name, buffer);
    set(i, buffer);
  }
  return keys;
}

IncompatibleKeys load_state_dict(Module& module, const Safetensors& file, std::string_view prefix,
                                 bool strict, Context& context) {
  const std::vector<std::string> names = module.parameter_names();
  // Only the names and shapes of the targets are read.
  std::vector<NamedTensor> targets;
  for (const std::string& name : names) {
    constexpr const float* kNone = nullptr;
    targets.push_back(
        {with_prefix(prefix, name), ConstTensor(kNone, module.parameter_shape(name))});
  }
  return load_named_tensors(targets, "this module's parameters", file, prefix, strict,
                            [&](std::size_t i, const Tensor& values) {
                              module.set_parameter(names[i], values, context);
                            });
}

}  // namespace attn
