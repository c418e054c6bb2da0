#include "io/file.hpp"

#include <cerrno>
#include <system_error>

#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

using File = std::unique_ptr<std::FILE, CloseFile>;

#if defined(_WIN32)
File open_to_read(const std::filesystem::path& path) { return File(_wfopen(path.c_str(), L"rb")); }
File open_to_write(const std::filesystem::path& path) { return File(_wfopen(path.c_str(), L"wb")); }
#else
File open_to_read(const std::filesystem::path& path) {
  return File(std::fopen(path.c_str(), "rb"));
}
File open_to_write(const std::filesystem::path& path) {
  return File(std::fopen(path.c_str(), "wb"));
}
#endif

}  // namespace

std::filesystem::path to_path(const std::string& name) {
  try {
    return std::u8string(name.begin(), name.end());
  } catch (const std::system_error&) {
    validation::fail(ErrorCode::kFileError, "path", {in_quotes(name)}, {"a name in UTF-8"});
  }
}

std::string to_name(const std::filesystem::path& path) {
  const std::u8string name = path.generic_u8string();
  return std::string(name.begin(), name.end());
}

void fail_file(const std::filesystem::path& path, const std::string& reason, const char* purpose) {
  validation::fail(ErrorCode::kFileError, "path", {in_quotes(to_name(path)), " (", reason, ")"},
                   {"a file that can be ", purpose});
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail_file(path, error.message());
  size_ = static_cast<std::int64_t>(size);
  file_ = open_to_read(path);
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

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  File file = open_to_write(path);
  const bool is_written =
      file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  // Closing the file flushes its buffer, which may also fail.
  if (!is_written || std::fclose(file.release()) != 0) fail_file(path, last_error(), "written");
}

}  // namespace attn
