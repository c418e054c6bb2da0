#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/transformer_decoder.hpp"

/// What is kept of past tokens, by single layers and by stacks.
namespace attn::wasm {

using Caches = std::vector<KeyValueCache>;

inline std::int64_t length_of(const KeyValueCache& cache) { return cache.length(); }
inline std::int64_t length_of(const Caches& caches) {
  return caches.empty() ? 0 : caches[0].length();
}
inline std::int64_t length_of(const TransformerDecoderLayerState& state) {
  return state.self_attention.length();
}
inline std::int64_t length_of(const TransformerDecoderState& state) { return state.length(); }

inline void truncate(KeyValueCache& cache, std::int64_t length) { cache.truncate(length); }
inline void truncate(Caches& caches, std::int64_t length) {
  for (KeyValueCache& cache : caches) cache.truncate(length);
}
inline void truncate(TransformerDecoderLayerState& state, std::int64_t length) {
  state.self_attention.truncate(length);
}
inline void truncate(TransformerDecoderState& state, std::int64_t length) {
  state.truncate(length);
}

/// What is kept of past tokens.
struct State {
  virtual ~State() = default;
  virtual std::int64_t length() const = 0;
  virtual void truncate(std::int64_t length) = 0;
};

template <class T>
struct StateOf final : State {
  explicit StateOf(T kept) : value(std::move(kept)) {}
  std::int64_t length() const override { return length_of(value); }
  void truncate(std::int64_t length) override { wasm::truncate(value, length); }

  T value;
};

template <class T>
void give_state(Arguments& a, T value) {
  const State* state = new StateOf<T>(std::move(value));
  a.give(static_cast<const void*>(state));
}

template <class T>
T& state_of(Arguments& a) {
  return static_cast<StateOf<T>&>(a.object<State>()).value;
}
/// Where there is one.
template <class T>
T* optional_state(Arguments& a) {
  auto* state = a.optional_object<State>();
  return state ? &static_cast<StateOf<T>*>(state)->value : nullptr;
}

}  // namespace attn::wasm
