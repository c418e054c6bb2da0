#include "attn/layers/module.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "validation.hpp"

namespace attn {
namespace {

/// Names listed in an error message, at most: stacks of layers have hundreds.
constexpr std::size_t kNamesShown = 16;

/// What is left of `name` behind the child's own; none when it belongs to another.
std::optional<std::string_view> within(std::string_view name, std::string_view child) {
  if (child.empty()) return name;
  if (!name.starts_with(child) || !name.substr(child.size()).starts_with('.')) return std::nullopt;
  return name.substr(child.size() + 1);
}

[[noreturn]] void fail_unknown(std::string_view name, const std::vector<std::string>& known) {
  std::string names;
  for (std::size_t i = 0; i < std::min(known.size(), kNamesShown); ++i) {
    names += (i > 0 ? ", " : "") + known[i];
  }
  if (known.size() > kNamesShown) {
    names += " and " + std::to_string(known.size() - kNamesShown) + " more";
  }
  validation::fail(ErrorCode::kNotFound, "name", {"\"", name, "\""}, {"one of: ", names});
}

}  // namespace

Module::~Module() = default;

std::vector<std::string> CompositeModule::parameter_names() const {
  std::vector<std::string> names;
  for (const Child& child : children()) {
    for (const std::string& name : child.module->parameter_names()) {
      names.push_back(child.name.empty() ? name : child.name + "." + name);
    }
  }
  return names;
}

ConstTensor CompositeModule::parameter(std::string_view name) const {
  for (const Child& child : children()) {
    const auto rest = within(name, child.name);
    if (!rest) continue;
    const std::vector<std::string> names = child.module->parameter_names();
    if (std::ranges::find(names, *rest) != names.end()) return child.module->parameter(*rest);
  }
  fail_unknown(name, parameter_names());
}

void CompositeModule::set_parameter(std::string_view name, const ConstTensor& values) {
  validation::require_same_shape(name, values, parameter(name));
  validation::require_data(name, values);
  for (const Child& child : children()) {
    const auto rest = within(name, child.name);
    if (!rest) continue;
    const std::vector<std::string> names = child.module->parameter_names();
    if (std::ranges::find(names, *rest) == names.end()) continue;
    child.module->set_parameter(*rest, values);
    return;
  }
}

}  // namespace attn
