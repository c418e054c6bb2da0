#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/models/load_language_model.hpp"
#include "compare.hpp"
#include "models/changed_models.hpp"
#include "models/recorded_models.hpp"

namespace attn_test {

inline std::vector<std::byte> as_file(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A temporary folder for the files of a test.
class ModelFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder =
        std::filesystem::path(::testing::TempDir()) /
        ("attn_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  void write(const std::string& name, const std::string& text) const { write(name, as_file(text)); }
  /// Writes the files of a recorded model to the folder or to a subfolder.
  void write_model(const std::string& name, const std::string& into = "") const {
    const RecordedFiles files = recorded_files(name);
    write(into + "config.json", files.config);
    if (files.files.size() == 1) {
      write(into + "model.safetensors", files.files[0]);
      return;
    }
    write(into + "model-00001-of-00002.safetensors", files.files[0]);
    write(into + "model-00002-of-00002.safetensors", files.files[1]);
  }
  std::string error(const std::string& name = "") const {
    return error_of([&] { attn::load_language_model((folder / name).string()); });
  }
  std::vector<float> logits(const std::string& name = "") const {
    return logits_of(attn::load_language_model((folder / name).string()));
  }

  std::filesystem::path folder;
};

}  // namespace attn_test
