#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A model.safetensors.index.json.
struct SafetensorsIndex {
  /// Where a tensor is.
  struct Place {
    std::string tensor;
    std::size_t file;
  };
  std::vector<std::string> files;  ///< each once, in their order in the index
  std::vector<Place> places;       ///< sorted by name

  /// The file that the index names for a tensor, or null.
  const Place* find(std::string_view tensor) const;
};

/// Throws kInvalidFormat, also for a file name that leads into another folder.
SafetensorsIndex read_safetensors_index(std::string_view index);

}  // namespace attn
