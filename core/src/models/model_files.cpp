#include "models/model_files.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include "heap_sort.hpp"
#include "io/file.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/model_tensors.hpp"
#include "models/weight_files.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  InputFile file(path);
  std::string text(validation::allocation("path", file.size(), 1), '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

SafetensorsHeader read_header_of_file(const fs::path& path) {
  constexpr std::int64_t kLength = 8;
  InputFile file(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(kLength, file.size())));
  file.read(bytes);
  try {
    const std::int64_t size = safetensors_header_size(bytes, file.size());
    bytes.resize(static_cast<std::size_t>(size));
    file.seek(0);
    file.read(bytes);
    return read_safetensors_header(bytes, file.size());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidFormat) throw;
    // The error names the file, because there may be several.
    std::string argument = in_quotes(to_name(path.filename()));
    argument.append(", ").append(error.argument());
    throw Error(error.code(), argument, error.got(), error.needs());
  }
}

std::vector<std::string> names_in(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) == folders) names.push_back(to_name(entry.path().filename()));
  }
  heap_sort(names);
  return names;
}

/// The folder itself or, if it is in the Hugging Face cache, the folder of its main snapshot.
fs::path folder_of_model(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  std::error_code error;
  if (!fs::is_directory(snapshots, error)) return folder;
  const fs::path main = folder / "refs" / "main";
  if (fs::exists(main, error)) {
    std::string revision = read_text(main);
    revision.resize(std::min(revision.find_last_not_of(" \t\r\n") + 1, revision.size()));
    if (fs::is_directory(snapshots / to_path(revision), error))
      return snapshots / to_path(revision);
  }
  const std::vector<std::string> names = names_in(snapshots, /*folders=*/true);
  if (names.size() == 1) return snapshots / to_path(names[0]);
  fail(ErrorCode::kFileError, "path",
       {in_quotes(to_name(folder)), names.empty() ? " without snapshots" : " with the snapshots ",
        list_quoted(names)},
       {"the path of one snapshot, because refs/main names no existing snapshot"});
}

}  // namespace

ModelFiles find_model_files(const std::string& name) {
  const fs::path path = to_path(name);
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? folder_of_model(path) : path.parent_path();
  const auto path_to = [&](const std::string& file) { return folder / to_path(file); };
  ModelFiles files;
  const fs::path index = path_to("model.safetensors.index.json");
  if (!is_folder) {
    require_weight_file(to_name(path.filename()));
    files.paths = {path};
  } else if (fs::exists(index, error) && !fs::exists(path_to("model.safetensors"), error)) {
    files.index = read_text(index);
    for (const std::string& file : safetensors_index_files(files.index)) {
      if (!fs::exists(path_to(file), error)) {
        fail_file(path_to(file), "missing, although model.safetensors.index.json names it");
      }
      files.paths.push_back(path_to(file));
    }
  } else {
    for (const std::string& file : choose_weight_files(names_in(folder, /*folders=*/false))) {
      files.paths.push_back(path_to(file));
    }
  }
  const fs::path config = path_to("config.json");
  if (fs::exists(config, error)) files.config = read_text(config);
  return files;
}

std::vector<SafetensorsHeader> ModelFiles::read_headers() const {
  std::vector<SafetensorsHeader> headers;
  for (const fs::path& path : paths) headers.push_back(read_header_of_file(path));
  return headers;
}

void ModelFiles::read_weights(
    std::span<const WeightSource> weights,
    const std::function<void(std::size_t source, std::span<const std::byte>)>& write,
    const std::function<void(std::int64_t done, std::int64_t all)>& on_progress) const {
  constexpr std::int64_t kSlice = 1 << 20;
  std::int64_t all = 0, done = 0;
  for (const WeightSource& source : weights) all += source.end - source.begin;
  std::optional<InputFile> file;
  std::vector<std::byte> buffer(kSlice);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const WeightSource& source = weights[i];
    if (i == 0 || source.file != weights[i - 1].file) file.emplace(paths[source.file]);
    file->seek(source.begin);
    for (std::int64_t at = source.begin; at < source.end; at += kSlice) {
      const std::int64_t count = std::min(kSlice, source.end - at);
      const std::span bytes(buffer.data(), static_cast<std::size_t>(count));
      file->read(bytes);
      write(i, bytes);
      done += count;
      if (on_progress) on_progress(done, all);
    }
  }
}

}  // namespace attn
