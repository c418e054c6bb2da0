#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The contents of a model.safetensors.index.json.
struct SafetensorsIndex {
  /// The file of a tensor.
  struct Place {
    std::string tensor;
    std::size_t file;
  };
  std::vector<std::string> files;  ///< each once, in index order
  std::vector<Place> places;       ///< sorted by name

  /// The file that the index names for a tensor, or null.
  const Place* find(std::string_view tensor) const;
};

/// Reads an index. Throws kInvalidFormat, also if a file name points to another folder.
SafetensorsIndex read_safetensors_index(std::string_view index);

}  // namespace attn
