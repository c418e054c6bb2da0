#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/io/state_dict.hpp"
#include "attn/models/language_model.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "models/recorded_models.hpp"

/// Recorded models with changed tensors or a changed configuration.
namespace attn_test {

/// A file whose tensors can be changed.
struct ChangedTensors {
  std::vector<std::pair<std::string, attn::OwnedTensor>> all;
  attn::SafetensorsMetadata metadata;

  explicit ChangedTensors(const std::vector<std::byte>& bytes) {
    const attn::Safetensors file = attn::Safetensors::view(bytes);
    metadata = file.metadata();
    for (const auto& entry : file.tensors()) {
      if (entry.dtype != "I64")
        all.emplace_back(entry.name, attn::OwnedTensor(entry.shape, file.read(entry.name)));
    }
  }
  attn::OwnedTensor& at(const std::string& name) {
    return std::ranges::find(all, name, [](const auto& tensor) { return tensor.first; })->second;
  }
  void remove(const std::string& name) {
    std::erase_if(all, [&](const auto& tensor) { return tensor.first == name; });
  }
  /// Replaces every tensor's name with the result of `rename`.
  void rename(const std::function<std::string(const std::string&)>& rename) {
    for (auto& [name, values] : all) name = rename(name);
  }
  std::vector<std::byte> bytes() const {
    std::vector<attn::NamedTensor> tensors;
    for (const auto& [name, values] : all) tensors.push_back({name, values});
    return attn::to_safetensors(tensors, metadata);
  }
};

inline RecordedFiles with(const std::string& name,
                          const std::function<void(ChangedTensors&)>& change) {
  RecordedFiles files = recorded_files(name);
  ChangedTensors tensors(files.files[0]);
  change(tensors);
  files.files[0] = tensors.bytes();
  return files;
}

inline RecordedFiles with_config_of(RecordedFiles files, const std::string& from,
                                    const std::string& to) {
  const std::size_t at = files.config.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  files.config.replace(at, from.size(), to);
  return files;
}
inline RecordedFiles with_config(const std::string& name, const std::string& from,
                                 const std::string& to) {
  return with_config_of(recorded_files(name), from, to);
}

/// The model with one more field at the beginning of its configuration.
inline RecordedFiles with_field(const RecordedFiles& files, const std::string& field) {
  return with_config_of(files, "{", "{" + field + ", ");
}

inline attn::LanguageModelDescription describe(const RecordedFiles& files,
                                               const attn::LanguageModelHints& hints = {}) {
  return attn::describe_language_model(files.headers(), files.config, hints);
}
inline attn::LanguageModel load_recorded(const std::string& name,
                                         const attn::LanguageModelHints& hints = {}) {
  return load_from_memory(recorded_files(name), hints);
}
/// The error thrown when the files are loaded.
inline std::string loading_error(const RecordedFiles& files,
                                 const attn::LanguageModelHints& hints = {}) {
  return error_of([&] { attn_test::load_from_memory(files, hints); });
}

inline std::vector<float> logits_of(const attn::LanguageModel& model) {
  const std::vector<std::int64_t> ids{1, 5, 3, 7, 7, 2};
  attn::OwnedTensor logits({6, model.options().vocab_size});
  model.forward(ids, logits);
  return {logits.values().begin(), logits.values().end()};
}

}  // namespace attn_test
