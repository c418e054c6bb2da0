#include "models/model_tensors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "heap_sort.hpp"
#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// The parts that wrappers around a model add to names. The wrappers are DataParallel,
/// torch.compile, FullyShardedDataParallel, checkpoint_wrapper and DeepSpeed.
constexpr std::string_view kWrapperParts[] = {
    "module.",          "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.",
    "_forward_module.",
};

std::string strip_wrappers(std::string_view name) {
  std::string result;
  result.reserve(name.size());
  while (!name.empty()) {
    const std::string_view part =
        name.substr(0, name.find('.') == name.npos ? name.npos : name.find('.') + 1);
    if (std::ranges::find(kWrapperParts, part) == std::end(kWrapperParts)) result += part;
    name.remove_prefix(part.size());
  }
  return result;
}

}  // namespace

ModelTensors::ModelTensors(std::span<const SafetensorsHeader> files, const SafetensorsIndex* index)
    : files_(files) {
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (const SafetensorsEntry& entry : files[file].tensors) {
      tensors_.push_back({&entry, strip_wrappers(entry.name), file});
    }
  }
  heap_sort(tensors_,
            [](const Found& found) { return std::pair(std::string_view(found.name), found.file); });
  if (index) {
    // If several files contain the same tensor, the index decides which file counts.
    const auto is_elsewhere = [&](const Found& found) {
      const SafetensorsIndex::Place* place = index->find(found.entry->name);
      return place && place->file != found.file;
    };
    std::vector<Found> chosen;
    for (std::size_t i = 0; i < tensors_.size();) {
      std::size_t end = i + 1;
      while (end < tensors_.size() && tensors_[end].name == tensors_[i].name) ++end;
      const auto same = std::span(tensors_).subspan(i, end - i);
      const bool decides = !std::ranges::all_of(same, is_elsewhere);
      for (Found& found : same) {
        if (!decides || !is_elsewhere(found)) chosen.push_back(std::move(found));
      }
      i = end;
    }
    tensors_ = std::move(chosen);
  }
  const auto twice = std::ranges::adjacent_find(tensors_, {}, name_of);
  if (twice == tensors_.end()) return;
  const std::string& first = twice->entry->name;
  const std::string& second = std::next(twice)->entry->name;
  if (first == second) {
    validation::fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(first),
                     {"copies in two files"}, {"only one"});
  }
  validation::fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(first),
                   {in_quotes(second), " as well, whose name differs only by a wrapper's prefix"},
                   {"only one of the two"});
}

ModelTensors::Found* ModelTensors::find(std::string_view name) {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, name_of);
  return found == tensors_.end() || name_of(*found) != name ? nullptr : &*found;
}

namespace {

std::optional<std::string_view> strip_ending(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return {};
  const std::string_view prefix = name.substr(0, name.size() - ending.size());
  if (!prefix.empty() && !prefix.ends_with('.')) return {};
  return prefix;
}

}  // namespace

std::optional<std::string> ModelTensors::prefix_of(std::string_view ending) const {
  for (const Found& tensor : tensors_) {
    if (const auto prefix = strip_ending(tensor.name, ending)) return std::string(*prefix);
  }
  return {};
}

std::optional<std::string> ModelTensors::prefix_of_model(std::string_view ending) const {
  const Found* first = nullptr;
  for (const Found& tensor : tensors_) {
    if (!strip_ending(tensor.name, ending)) continue;
    if (first) {
      validation::fail(ErrorCode::kUnsupported, "tensors",
                       {"two models, with ", in_quotes(first->entry->name), " and ",
                        in_quotes(tensor.entry->name)},
                       {"one; save each model to a separate file"});
    }
    first = &tensor;
  }
  if (!first) return {};
  return std::string(*strip_ending(first->name, ending));
}

std::string ModelTensors::name_around(std::string_view prefix, const std::string& name) const {
  const Found* innermost = nullptr;
  for (const Found& tensor : tensors_) {
    const auto before = strip_ending(tensor.name, name);
    if (!before || !prefix.starts_with(*before)) continue;
    if (!innermost || tensor.name.size() > innermost->name.size()) innermost = &tensor;
  }
  return innermost ? innermost->name : prefix_of(name).value_or("") + name;
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

std::vector<std::string> ModelTensors::names() const {
  std::vector<std::string> names;
  for (const Found& tensor : tensors_) names.push_back(tensor.entry->name);
  return names;
}

std::string list_quoted(std::span<const std::string> names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(in_quotes(name));
  return validation::list_names(quoted);
}

}  // namespace attn
