#include "io/file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

void fail_file(const std::string& path, const std::string& reason, const char* purpose) {
  validation::fail(ErrorCode::kFileError, "path", {in_quotes(path), " (", reason, ")"},
                   {"a file that can be ", purpose});
}

InputFile::InputFile(const std::string& path) : path_(path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail_file(path, error.message());
  size_ = static_cast<std::int64_t>(size);
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) fail_file(path, last_error());
}

void InputFile::read(std::span<std::byte> bytes) {
  if (std::fread(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    fail_file(path_, std::ferror(file_.get()) ? last_error() : "it ends early");
  }
  at_ += std::ssize(bytes);
}

void InputFile::seek(std::int64_t to) {
  if (to == at_) return;
  if (fseeko(file_.get(), static_cast<off_t>(to), SEEK_SET) != 0) fail_file(path_, last_error());
  at_ = to;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wb"));
  const bool is_written =
      file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  // Closing the file flushes the buffer, and that may fail too.
  if (!is_written || std::fclose(file.release()) != 0) fail_file(path, last_error(), "written");
}

}  // namespace attn
