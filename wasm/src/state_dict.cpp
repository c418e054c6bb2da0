// Weights in files.

#include "attn/io/state_dict.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/io/safetensors.hpp"

namespace attn::wasm {
namespace {

/// What was given last, until JavaScript has copied it.
std::vector<std::byte> file;

std::span<const std::byte> bytes(Arguments& a) { return std::as_bytes(a.span<char>()); }

void give_file(Arguments& a) {
  a.give(static_cast<const void*>(file.data()));
  a.give(static_cast<double>(file.size()));
}

void free_file(Arguments&) { file = std::vector<std::byte>(); }

/// Keys and values in turn.
SafetensorsMetadata metadata(Arguments& a) {
  SafetensorsMetadata result(static_cast<std::size_t>(a.integer()));
  for (auto& [key, value] : result) {
    key = a.text();
    value = a.text();
  }
  return result;
}

void write_safetensors(Arguments& a) {
  std::vector<NamedTensor> tensors(static_cast<std::size_t>(a.integer()));
  for (NamedTensor& tensor : tensors) {
    tensor.name = a.text();
    tensor.values = a.elements();
  }
  file = to_safetensors(tensors, metadata(a));
  give_file(a);
}

void open_safetensors(Arguments& a) {
  const auto source = bytes(a);
  const auto* opened = new Safetensors(Safetensors::own({source.begin(), source.end()}));
  a.give(static_cast<const void*>(opened));
}

void delete_safetensors(Arguments& a) { delete &a.object<Safetensors>(); }

/// Gives name, dtype and shape of each tensor, then keys and values; and how many tensors there
/// are.
void describe_safetensors(Arguments& a) {
  const auto& opened = a.object<Safetensors>();
  std::vector<std::string> texts;
  for (const SafetensorsEntry& entry : opened.tensors()) {
    texts.push_back(entry.name);
    texts.push_back(entry.dtype);
    std::string& shape = texts.emplace_back();
    for (const std::int64_t size : entry.shape) {
      shape += shape.empty() ? '[' : ',';
      shape += std::to_string(size);
    }
    shape += shape.empty() ? "[]" : "]";
  }
  for (const auto& [key, value] : opened.metadata()) {
    texts.push_back(key);
    texts.push_back(value);
  }
  a.give(std::move(texts));
  a.give(static_cast<double>(opened.tensors().size()));
}

void read_safetensors(Arguments& a) {
  const auto& opened = a.object<Safetensors>();
  const std::string_view name = a.text();
  opened.read(name, a.result());
}

/// Gives the names that are missing, then those that are unexpected; and how many are missing.
void load_state(Arguments& a) {
  auto& layer = a.object<Module>();
  const auto& opened = a.object<Safetensors>();
  const std::string_view prefix = a.text();
  IncompatibleKeys keys = load_state_dict(layer, opened, prefix, a.flag(), context());
  std::vector<std::string>& names = keys.missing_keys;
  const auto missing = static_cast<double>(names.size());
  names.insert(names.end(), keys.unexpected_keys.begin(), keys.unexpected_keys.end());
  a.give(std::move(names));
  a.give(missing);
}

}  // namespace

EMSCRIPTEN_BINDINGS(state_dict) {
  operation("toSafetensors", &write_safetensors);
  operation("freeFile", &free_file);
  operation("openSafetensors", &open_safetensors);
  operation("deleteSafetensors", &delete_safetensors);
  operation("describeSafetensors", &describe_safetensors);
  operation("readSafetensors", &read_safetensors);
  operation("loadStateDict", &load_state);
}

}  // namespace attn::wasm
