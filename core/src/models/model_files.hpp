#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "attn/models/load_language_model.hpp"

namespace attn {

/// A model's files on disk.
struct ModelFiles {
  std::vector<std::filesystem::path> paths;  ///< files with weights
  std::string config, index;                 ///< texts, or empty

  /// Reads the headers of the files with weights.
  std::vector<SafetensorsHeader> read_headers() const;

  /// Reads the weights in slices and passes each slice to `write`, with the index of its source.
  void read_weights(
      std::span<const WeightSource> weights,
      const std::function<void(std::size_t source, std::span<const std::byte>)>& write,
      const std::function<void(std::int64_t done, std::int64_t all)>& on_progress) const;
};

/// Finds the files of a model, as load_language_model() describes. Throws kFileError or kNotFound.
ModelFiles find_model_files(const std::string& path);

}  // namespace attn
