#include "models/model_tensors.hpp"

#include <algorithm>

#include "heap_sort.hpp"
#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {

ModelTensors::ModelTensors(std::span<const SafetensorsHeader> files) : files_(files) {
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (const SafetensorsEntry& entry : files[file].tensors) {
      tensors_.push_back({&entry, file, false});
    }
  }
  heap_sort(tensors_, name_of);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, name_of);
  if (twice != tensors_.end()) {
    validation::fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(name_of(*twice)),
                     {"it in two files"}, {"it once"});
  }
}

ModelTensors::Found* ModelTensors::find(std::string_view name) {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, name_of);
  return found == tensors_.end() || name_of(*found) != name ? nullptr : &*found;
}

std::optional<std::string> ModelTensors::prefix_of(std::string_view ending) const {
  for (const Found& tensor : tensors_) {
    const std::string_view name = name_of(tensor);
    if (!name.ends_with(ending)) continue;
    const std::string_view prefix = name.substr(0, name.size() - ending.size());
    if (prefix.empty() || prefix.ends_with('.')) return std::string(prefix);
  }
  return {};
}

std::int64_t ModelTensors::count_layers(const std::string& path) const {
  std::int64_t count = 0;
  const auto has_layer = [&] {
    const std::string layer = path + std::to_string(count) + ".";
    const auto next = std::ranges::lower_bound(tensors_, std::string_view(layer), {}, name_of);
    return next != tensors_.end() && name_of(*next).starts_with(layer);
  };
  while (has_layer()) ++count;
  return count;
}

std::vector<std::string> ModelTensors::names(bool unused_only) const {
  std::vector<std::string> names;
  for (const Found& tensor : tensors_) {
    if (!unused_only || !tensor.used) names.emplace_back(name_of(tensor));
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kNamesShown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    if (i > 0) text += ", ";
    text += in_quotes(names[i]);
  }
  if (names.size() > kNamesShown) {
    text += " and " + std::to_string(names.size() - kNamesShown) + " more";
  }
  return text;
}

}  // namespace attn
