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

/// The tensors of all files by name, and which of them a model uses.
///
/// Wrappers around a model, such as DataParallel and torch.compile, add a part to each name:
/// "module." or "_orig_mod.". Names here do not include these parts.
class ModelTensors {
 public:
  /// If two files have a tensor of the same name, `index` (if not null) decides which file counts.
  /// Throws kInvalidFormat if a name is in two files and `index` does not decide between them.
  explicit ModelTensors(std::span<const SafetensorsHeader> files,
                        const SafetensorsIndex* index = nullptr);

  struct Found {
    const SafetensorsEntry* entry;  ///< the tensor's entry, which has its name in the file
    std::string name;
    std::size_t file;
    bool used = false;
  };

  /// Returns null if there is no such tensor.
  Found* find(std::string_view name);
  bool has(std::string_view name) { return find(name) != nullptr; }

  /// The part before `ending` in the first name that ends with `ending`; none if there is no such
  /// name. `ending` must be the whole name or follow a dot.
  std::optional<std::string> prefix_of(std::string_view ending) const;

  /// Like prefix_of(), for a tensor that every model has exactly once. Throws kUnsupported if there
  /// are two such tensors, because the files then contain two models.
  std::optional<std::string> prefix_of_model(std::string_view ending) const;

  /// The full name of a tensor outside a model's body, such as an output layer. Searches the module
  /// at `prefix`, then the modules around it from the inside out, then takes the first name that
  /// ends with `name`. If no name matches, returns the name that the tensor should have in the
  /// outermost module.
  std::string name_around(std::string_view prefix, const std::string& name) const;

  /// Number of layers whose names begin with `path` + "0.", `path` + "1." and so on.
  std::int64_t count_layers(const std::string& path) const;

  /// The names in the files, in alphabetical order.
  std::vector<std::string> names() const;
  std::span<const Found> all() const { return tensors_; }

  std::int64_t size() const { return std::ssize(tensors_); }
  const SafetensorsHeader& file(std::size_t i) const { return files_[i]; }

 private:
  static std::string_view name_of(const Found& found) { return found.name; }

  std::span<const SafetensorsHeader> files_;
  std::vector<Found> tensors_;
};

/// Lists names from a file for a message; see in_quotes() and validation::list_names().
std::string list_quoted(std::span<const std::string> names);

}  // namespace attn
