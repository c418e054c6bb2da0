// Caches and states of past tokens, which layers and stacks use for decoding.

#include "states.hpp"

#include <emscripten/bind.h>

#include <cstdint>

#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

KeyValueCache* make_cache(double batch, double num_kv_heads, double head_dim, double value_dim,
                          double capacity, ElementType type) {
  return new KeyValueCache(
      static_cast<std::int64_t>(batch), static_cast<std::int64_t>(num_kv_heads),
      static_cast<std::int64_t>(head_dim), static_cast<std::int64_t>(value_dim),
      static_cast<std::int64_t>(capacity), type);
}

double capacity_of(const KeyValueCache& cache) { return static_cast<double>(cache.capacity()); }

void read_keys(const KeyValueCache& cache, const TensorArgument& output) {
  cache.read_keys(output.result());
}

void read_values(const KeyValueCache& cache, const TensorArgument& output) {
  cache.read_values(output.result());
}

void append(KeyValueCache& cache, const TensorArgument& key, const TensorArgument& value) {
  cache.append(key.elements(), value.elements());
}

std::int64_t length_of(const KeyValueCache& cache) { return cache.length(); }
std::int64_t length_of(const Caches& caches) { return caches.empty() ? 0 : caches[0].length(); }
std::int64_t length_of(const TransformerDecoderLayerState& state) {
  return state.self_attention.length();
}
std::int64_t length_of(const TransformerDecoderState& state) { return state.length(); }

void truncate_to(KeyValueCache& cache, std::int64_t length) { cache.truncate(length); }
void truncate_to(Caches& caches, std::int64_t length) {
  for (KeyValueCache& cache : caches) cache.truncate(length);
}
void truncate_to(TransformerDecoderLayerState& state, std::int64_t length) {
  state.self_attention.truncate(length);
}
void truncate_to(TransformerDecoderState& state, std::int64_t length) { state.truncate(length); }

template <class T>
double length(const T& state) {
  return static_cast<double>(length_of(state));
}

template <class T>
void truncate(T& state, double length) {
  truncate_to(state, static_cast<std::int64_t>(length));
}

template <class T>
emscripten::class_<T> bind_state(const char* name) {
  return emscripten::class_<T>(name)
      .function("length", &length<T>)
      .function("truncate", guarded<&truncate<T>>);
}

}  // namespace

EMSCRIPTEN_BINDINGS(states) {
  bind_state<KeyValueCache>("KeyValueCache")
      .constructor(guarded<&make_cache>)
      .function("capacity", &capacity_of)
      .function("readKeys", guarded<&read_keys>)
      .function("readValues", guarded<&read_values>)
      .function("append", guarded<&append>);
  bind_state<Caches>("LayerCaches");
  bind_state<TransformerDecoderLayerState>("TransformerDecoderLayerState");
  bind_state<TransformerDecoderState>("TransformerDecoderState");
}

}  // namespace attn::wasm
