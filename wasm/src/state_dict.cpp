// Reads and writes weights in files.

#include "state_dict.hpp"

#include <emscripten/bind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "attn/io/safetensors.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

using emscripten::val;

struct Bytes : val {
  explicit Bytes(const val& bytes = undefined()) : val(bytes) {}
};

/// A JavaScript object that maps keys to strings.
struct Metadata : val {
  explicit Metadata(const val& texts = undefined()) : val(texts) {}
};

/// A tensor in a file.
struct Entry {
  std::string name;
  std::string dtype;
  Sizes shape;
};

/// The tensors and metadata to write. Also keeps the bytes of the file until JavaScript has copied
/// them.
struct SafetensorsWriter {
  std::vector<NamedTensor> tensors;
  SafetensorsMetadata metadata;
  std::vector<std::byte> file;
};

void add_tensor(SafetensorsWriter& writer, const TensorArgument& name,
                const TensorArgument& values) {
  writer.tensors.push_back({std::string(name.text()), values.elements()});
}

void add_metadata(SafetensorsWriter& writer, const TensorArgument& key,
                  const TensorArgument& value) {
  writer.metadata.emplace_back(key.text(), value.text());
}

/// Returns a view of the file. The view is valid until the writer is destroyed or the memory grows.
Bytes write(SafetensorsWriter& writer) {
  writer.file = to_safetensors(writer.tensors, writer.metadata);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(writer.file.data());
  return Bytes(val(emscripten::typed_memory_view(writer.file.size(), bytes)));
}

Safetensors* open(const TensorArgument& file) {
  const auto bytes = file.bytes();
  return new Safetensors(Safetensors::own({bytes.begin(), bytes.end()}));
}

ArrayOf<Entry> tensors(const Safetensors& file) {
  std::vector<Entry> entries;
  for (const SafetensorsEntry& entry : file.tensors()) {
    entries.push_back({entry.name, entry.dtype, sizes(entry.shape)});
  }
  return ArrayOf<Entry>(entries);
}

Metadata metadata(const Safetensors& file) {
  val texts = val::object();
  for (const auto& [key, value] : file.metadata()) texts.set(key, value);
  return Metadata(texts);
}

void read(const Safetensors& file, const std::string& name, const TensorArgument& output) {
  file.read(name, output.result());
}

}  // namespace

UnsharedNames load_state(Module& layer, const Safetensors& file, const std::string& prefix,
                         bool strict) {
  return unshared_names(load_state_dict(layer, file, prefix, strict, context()));
}

EMSCRIPTEN_BINDINGS(state_dict) {
  using emscripten::allow_raw_pointers;
  emscripten::register_type<Bytes>("Uint8Array");
  emscripten::register_type<ArrayOf<Entry>>("SafetensorsEntry[]");
  emscripten::register_type<Metadata>("Record<string, string>");
  emscripten::value_object<Entry>("SafetensorsEntry")
      .field("name", &Entry::name)
      .field("dtype", &Entry::dtype)
      .field("shape", &Entry::shape);
  emscripten::class_<Safetensors>("Safetensors")
      .constructor(guarded<&open>, allow_raw_pointers())
      .function("tensors", guarded<&tensors>)
      .function("metadata", guarded<&metadata>)
      .function("read", guarded<&read>);
  emscripten::class_<SafetensorsWriter>("SafetensorsWriter")
      .constructor()
      .function("addTensor", guarded<&add_tensor>)
      .function("addMetadata", guarded<&add_metadata>)
      .function("write", guarded<&write>);
  emscripten::value_object<UnsharedNames>("IncompatibleKeys")
      .field("missingKeys", &UnsharedNames::missing_keys)
      .field("unexpectedKeys", &UnsharedNames::unexpected_keys);
}

}  // namespace attn::wasm
