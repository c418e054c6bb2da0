#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "attn/models/language_model.hpp"
#include "attn/models/load_language_model.hpp"

namespace attn_test {

/// A model's files, and PyTorch's results for it in double precision; see recorded/record.py.
struct RecordedModel {
  std::string name;
  std::string family;  ///< the family that attn should recognise
  attn::LanguageModelHints hints = {};
};
std::vector<RecordedModel> recorded_models();

/// A recorded model's files in memory. If the model's folder has no weights, the weights of `llama`
/// are used.
struct RecordedFiles {
  std::vector<std::vector<std::byte>> files;
  std::string config;

  std::vector<attn::SafetensorsHeader> headers() const;
};
RecordedFiles recorded_files(const std::string& name);
std::string recorded_folder(const std::string& name);

/// The results "ids", "logits", "hidden", "weights.0" and so on; see recorded/record.py.
attn::Safetensors recorded_results(const std::string& name);

/// The bytes of a file on disk.
std::vector<std::byte> bytes_of(const std::string& path);

/// Loads a model from `files`, passing its weights in slices of `slice` bytes.
attn::LanguageModel load_from_memory(const RecordedFiles& files,
                                     const attn::LanguageModelHints& hints,
                                     std::int64_t slice = 1 << 16);

}  // namespace attn_test
