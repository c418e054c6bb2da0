// Weights in files.

#include "attn/state_dict.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "attn/safetensors.hpp"

namespace attn::wasm {
namespace {

/// What is given last, until the next call.
std::vector<std::byte> file;
std::string text;

std::span<const std::byte> bytes(Arguments& a) { return std::as_bytes(a.span<char>()); }

void give_file(Arguments& a) {
  a.give(static_cast<const void*>(file.data()));
  a.give(static_cast<double>(file.size()));
}

void free_file(Arguments&) {
  file = {};
  text = {};
}

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
  a.keep_names();
  std::vector<NamedTensor> tensors(static_cast<std::size_t>(a.integer()));
  for (NamedTensor& tensor : tensors) {
    tensor.name = a.text();
    tensor.values = a.floats();
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

/// A JSON text would need a writer: lengths before texts do as well, because names may hold
/// anything. Tensors as name, dtype, rank, sizes; then keys and values.
void describe_safetensors(Arguments& a) {
  const auto& opened = a.object<Safetensors>();
  text.clear();
  const auto add = [](std::string_view part) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  };
  add(std::to_string(opened.tensors().size()));
  for (const SafetensorsEntry& entry : opened.tensors()) {
    add(entry.name);
    add(entry.dtype);
    add(std::to_string(entry.shape.size()));
    for (const std::int64_t size : entry.shape) add(std::to_string(size));
  }
  for (const auto& [key, value] : opened.metadata()) {
    add(key);
    add(value);
  }
  a.give(std::string_view(text));
}

void read_safetensors(Arguments& a) {
  a.keep_names();
  const auto& opened = a.object<Safetensors>();
  const std::string_view name = a.text();
  opened.read(name, a.result());
}

/// Gives the names that are missing, each ended by a zero byte, and those that are unexpected.
void load_state(Arguments& a) {
  a.keep_names();
  auto& layer = a.object<Module>();
  const auto& opened = a.object<Safetensors>();
  const std::string_view prefix = a.text();
  const IncompatibleKeys keys = load_state_dict(layer, opened, prefix, a.flag());
  text.clear();
  for (const std::string& name : keys.missing_keys) text.append(name).push_back('\0');
  const std::size_t missing = text.size();
  for (const std::string& name : keys.unexpected_keys) text.append(name).push_back('\0');
  a.give(std::string_view(text).substr(0, missing));
  a.give(std::string_view(text).substr(missing));
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
