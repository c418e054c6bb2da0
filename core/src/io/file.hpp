#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Convert a UTF-8 name to a path, and a path to a UTF-8 name with forward slashes. On Windows, a
/// path made from a plain string would be interpreted in the system's code page.
std::filesystem::path to_path(const std::string& name);
std::string to_name(const std::filesystem::path& path);

/// Throws an Error with code file_error for the argument `path`.
[[noreturn]] void fail_file(const std::filesystem::path& path, const std::string& reason,
                            const char* purpose = "read");

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

/// A file on disk. Its functions throw an Error with code file_error that names the path.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::int64_t size() const { return size_; }

  /// Reads the next `bytes.size()` bytes.
  void read(std::span<std::byte> bytes);

  void seek(std::int64_t to);

 private:
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::int64_t size_ = 0, at_ = 0;
};

/// Creates or replaces a file.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace attn
