#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "validation.hpp"

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

/// What errors call it.
template <class T>
inline constexpr std::string_view kKind = {};
template <>
inline constexpr std::string_view kKind<KeyValueCache> = "a cache of one layer";
template <>
inline constexpr std::string_view kKind<Caches> = "caches of encoder layers";
template <>
inline constexpr std::string_view kKind<TransformerDecoderLayerState> =
    "a state of a decoder layer";
template <>
inline constexpr std::string_view kKind<TransformerDecoderState> =
    "a state of a stack of decoder layers";

/// What is kept of past tokens.
struct State {
  explicit State(std::string_view its_kind) noexcept : kind(its_kind) {}
  virtual ~State() = default;
  virtual std::int64_t length() const = 0;
  virtual void truncate(std::int64_t length) = 0;

  const std::string_view kind;
};

template <class T>
struct StateOf final : State {
  explicit StateOf(T kept) : State(kKind<T>), value(std::move(kept)) {}
  std::int64_t length() const override { return length_of(value); }
  void truncate(std::int64_t length) override { wasm::truncate(value, length); }

  T value;
};

template <class T>
void give_state(Arguments& a, T value) {
  const State* state = new StateOf<T>(std::move(value));
  a.give(static_cast<const void*>(state));
}

/// What a state keeps. `argument` is what JavaScript calls it.
template <class T>
const T& as_kept(const State& state, const char* argument) {
  if (state.kind != kKind<T>) {
    validation::fail(ErrorCode::kInvalidArgument, argument, {state.kind}, {kKind<T>});
  }
  return static_cast<const StateOf<T>&>(state).value;
}

/// Null where there is none.
template <class T>
T* optional_state(Arguments& a, const char* argument) {
  const auto* state = a.optional_object<State>();
  return state ? const_cast<T*>(&as_kept<T>(*state, argument)) : nullptr;
}
template <class T>
T& state_of(Arguments& a, const char* argument) {
  return *optional_state<T>(a, argument);
}

}  // namespace attn::wasm
