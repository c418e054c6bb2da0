#pragma once

#include <emscripten/val.h>

#include <cstdint>
#include <optional>

#include "attn/element_type.hpp"
#include "guarded.hpp"
#include "layers.hpp"
#include "states.hpp"
#include "tensor_argument.hpp"

/// Helpers shared by the bindings of layers with attention.
namespace attn::wasm {

/// A JavaScript object, or undefined.
template <class T>
struct OptionalOf : emscripten::val {
  explicit OptionalOf(const emscripten::val& value = undefined()) : val(value) {}
};

template <auto Member>
struct OptionalField;

template <class Struct, class T, std::optional<T> Struct::* Member>
struct OptionalField<Member> {
  static OptionalOf<T> get(const Struct& options) {
    const std::optional<T>& value = options.*Member;
    return value ? OptionalOf<T>(emscripten::val(*value)) : OptionalOf<T>();
  }
  static void set(Struct& options, const OptionalOf<T>& value) {
    options.*Member = value.isUndefined() ? std::nullopt : std::optional(value.template as<T>());
  }
};

/// Accessors for optional fields that are objects. OptionalOf<T> must be registered.
template <auto Member>
constexpr auto get_optional = &OptionalField<Member>::get;
template <auto Member>
constexpr auto set_optional = guarded<&OptionalField<Member>::set>;

/// Accessors for flags that may be unset in C++. JavaScript always passes true or false.
template <auto Member>
struct FlagField;

template <class Struct, std::optional<bool> Struct::* Member>
struct FlagField<Member> {
  static bool get(const Struct& options) { return (options.*Member).value_or(false); }
  static void set(Struct& options, bool value) { options.*Member = value; }
};

template <auto Member>
constexpr auto get_flag = &FlagField<Member>::get;
template <auto Member>
constexpr auto set_flag = &FlagField<Member>::set;

/// Makes an empty cache for an attention layer.
inline KeyValueCache* new_cache(const MultiHeadAttention& attention, double batch, double capacity,
                                ElementType type) {
  return new KeyValueCache(attention.make_cache(static_cast<std::int64_t>(batch),
                                                static_cast<std::int64_t>(capacity), type));
}

/// Makes an empty cache for each layer of a stack or model.
template <class L>
Caches* new_caches(const L& stack, double batch, double capacity, ElementType type) {
  return new Caches(stack.make_caches(static_cast<std::int64_t>(batch),
                                      static_cast<std::int64_t>(capacity), type));
}

}  // namespace attn::wasm
