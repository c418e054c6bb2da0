#include "models/safetensors_index.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attn/models/load_language_model.hpp"
#include "heap_sort.hpp"
#include "io/foreign_file.hpp"
#include "io/json.hpp"
#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

constexpr const char* kIndexFile = "safetensors index";

struct EnteredIndexValue {
  char end;
  bool first, is_map;
};

std::string checked_file_name(std::string file) {
  if (file.find_first_of(std::string_view("/\\\0", 3)) != file.npos || file.starts_with('.')) {
    validation::fail(ErrorCode::kInvalidFormat, kIndexFile, {in_quotes(file)},
                     {"the name of a file in the same folder"});
  }
  return file;
}

}  // namespace

const SafetensorsIndex::Place* SafetensorsIndex::find(std::string_view tensor) const {
  const auto name_of = [](const Place& place) -> std::string_view { return place.tensor; };
  const auto found = std::ranges::lower_bound(places, tensor, {}, name_of);
  return found == places.end() || found->tensor != tensor ? nullptr : &*found;
}

SafetensorsIndex read_safetensors_index(std::string_view text) {
  using validation::fail;
  if (const ForeignFile* foreign = recognize_foreign_file(text);
      foreign && !text.starts_with('{')) {
    fail(ErrorCode::kInvalidFormat, kIndexFile, {foreign->kind}, {foreign->remedy});
  }
  JsonReader json(kIndexFile, text, JsonDialect::kPython);
  if (json.peek() != '{') {
    fail(ErrorCode::kInvalidFormat, kIndexFile, {json.describe()}, {"an object"});
  }
  // Reads only the object weight_map, and skips all other values, however deeply they are nested.
  SafetensorsIndex index;
  std::unordered_map<std::string, std::size_t> files;
  std::vector<EnteredIndexValue> levels = {{'}', true, false}};
  json.enter();
  bool found = false;
  while (!levels.empty()) {
    EnteredIndexValue& level = levels.back();
    if (!json.next(level.end, level.first)) {
      levels.pop_back();
      continue;
    }
    std::string key;
    if (level.end == '}') key = json.key();
    const char c = json.peek();
    if (level.is_map) {
      if (c != '"') {
        fail(ErrorCode::kInvalidFormat, kIndexFile, {json.describe(), " for ", in_quotes(key)},
             {"a file name"});
      }
      const auto [file, is_new] =
          files.try_emplace(checked_file_name(json.string()), index.files.size());
      if (is_new) index.files.push_back(file->first);
      index.places.push_back({std::move(key), file->second});
    } else if (c == '{' || c == '[') {
      const bool is_map = levels.size() == 1 && key == "weight_map" && c == '{';
      found = found || is_map;
      json.enter();
      levels.push_back({c == '{' ? '}' : ']', true, is_map});
    } else {
      json.describe();
    }
  }
  json.end();
  if (!found) fail(ErrorCode::kInvalidFormat, kIndexFile, {"no weight_map"}, {"one"});
  const auto name_of = [](const SafetensorsIndex::Place& place) -> const std::string& {
    return place.tensor;
  };
  heap_sort(index.places, name_of);
  if (const auto twice = std::ranges::adjacent_find(index.places, {}, name_of);
      twice != index.places.end()) {
    fail(ErrorCode::kInvalidFormat, kIndexFile, {in_quotes(twice->tensor), " twice"},
         {"each tensor only once"});
  }
  return index;
}

std::vector<std::string> safetensors_index_files(std::string_view index) {
  return read_safetensors_index(index).files;
}

}  // namespace attn
