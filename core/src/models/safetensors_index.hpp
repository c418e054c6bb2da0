#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The contents of a file model.safetensors.index.json.
struct SafetensorsIndex {
  /// The file that contains a tensor.
  struct Place {
    std::string tensor;
    std::size_t file;
  };
  std::vector<std::string> files;  ///< all files, each once, in the order of the index
  std::vector<Place> places;       ///< sorted by the tensors' names

  /// The file that the index names for a tensor, or null.
  const Place* find(std::string_view tensor) const;
};

/// Reads an index. Throws kInvalidFormat for invalid text and for a file name that points to
/// another folder.
SafetensorsIndex read_safetensors_index(std::string_view index);

}  // namespace attn
