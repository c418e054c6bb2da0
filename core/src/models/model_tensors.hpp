#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/safetensors.hpp"

namespace attn {

/// The tensors of all files by their names, and which of them a model has taken.
class ModelTensors {
 public:
  /// Throws kInvalidFormat for a name that is in two files.
  explicit ModelTensors(std::span<const SafetensorsHeader> files);

  struct Found {
    const SafetensorsEntry* entry;
    std::size_t file;
    bool used;
  };

  /// Null where there is none.
  Found* find(std::string_view name);
  bool has(std::string_view name) { return find(name) != nullptr; }

  /// What stands in front of `ending` in the first name that ends with it as a whole, if any does.
  std::optional<std::string> prefix_of(std::string_view ending) const;

  /// How many layers there are, from `path` + "0." on.
  std::int64_t count_layers(const std::string& path) const;

  /// In alphabetical order.
  std::vector<std::string> names(bool unused_only = false) const;

  std::int64_t size() const { return std::ssize(tensors_); }
  const SafetensorsHeader& file(std::size_t i) const { return files_[i]; }

 private:
  static std::string_view name_of(const Found& found) { return found.entry->name; }

  std::span<const SafetensorsHeader> files_;
  std::vector<Found> tensors_;
};

/// Names in quotes for an error's text, the first ones of many.
std::string listed(const std::vector<std::string>& names);

}  // namespace attn
