#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "models/safetensors_index.hpp"

namespace attn {

/// The tensors of all files by their names, and which of them a model has taken.
///
/// Wrappers around a model, such as DataParallel and torch.compile, add a part to each name:
/// "module." or "_orig_mod.". Names here are without these parts.
class ModelTensors {
 public:
  /// If two files have a tensor of the same name, `index` (if not null) decides. Throws
  /// kInvalidFormat for a name that is otherwise in two files.
  explicit ModelTensors(std::span<const SafetensorsHeader> files,
                        const SafetensorsIndex* index = nullptr);

  struct Found {
    const SafetensorsEntry* entry;  ///< with the name in the file
    std::string name;
    std::size_t file;
    bool used = false;
  };

  /// Null if there is none.
  Found* find(std::string_view name);
  bool has(std::string_view name) { return find(name) != nullptr; }

  /// The part before `ending` in the first name that ends with it, if one does. `ending` must be
  /// the whole name or follow a dot.
  std::optional<std::string> prefix_of(std::string_view ending) const;

  /// The same for the tensor that tells where a model is. Throws kUnsupported for files with two
  /// of them, which are two models.
  std::optional<std::string> prefix_of_model(std::string_view ending) const;

  /// The full name of a tensor outside a model's body, such as an output layer: in the module at
  /// `prefix` or in one around it, from the inside out, else the first that ends with `name`. If
  /// there is none, the name that it should have in the outermost module.
  std::string name_around(std::string_view prefix, const std::string& name);

  /// Number of layers from `path` + "0." on.
  std::int64_t count_layers(const std::string& path) const;

  /// As the files have them, in alphabetical order.
  std::vector<std::string> names() const;
  std::span<const Found> all() const { return tensors_; }

  std::int64_t size() const { return std::ssize(tensors_); }
  const SafetensorsHeader& file(std::size_t i) const { return files_[i]; }

 private:
  static std::string_view name_of(const Found& found) { return found.name; }

  std::span<const SafetensorsHeader> files_;
  std::vector<Found> tensors_;
};

/// Names in quotes for an error's text, the first ones of many.
std::string listed(const std::vector<std::string>& names);

}  // namespace attn
