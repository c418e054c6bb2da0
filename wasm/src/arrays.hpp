#pragma once

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "guarded.hpp"

namespace attn::wasm {

/// A JavaScript array that is passed to a call or returned by it. Undefined after an error.
template <class T>
struct ArrayOf : emscripten::val {
  explicit ArrayOf(const emscripten::val& values = undefined()) : val(values) {}
  explicit ArrayOf(const std::vector<T>& values) : val(array(values)) {}
};

using Texts = ArrayOf<std::string>;
using Sizes = ArrayOf<double>;

inline Texts texts(const std::vector<std::string>& strings) { return Texts(strings); }

inline Sizes sizes(std::span<const std::int64_t> shape) {
  return Sizes(std::vector<double>(shape.begin(), shape.end()));
}

/// Numbers that are passed to a call, as an array or a typed array.
EMSCRIPTEN_DECLARE_VAL_TYPE(Numbers)

template <auto Member>
struct ArrayField;

template <class Struct, class T, std::vector<T> Struct::* Member>
struct ArrayField<Member> {
  static Numbers get(const Struct& options) {
    const std::vector<T>& values = options.*Member;
    return Numbers(emscripten::val::array(values.begin(), values.end()));
  }
  static void set(Struct& options, const Numbers& values) {
    const auto numbers = emscripten::convertJSArrayToNumberVector<double>(values);
    (options.*Member).assign(numbers.begin(), numbers.end());
  }
};

/// Accessors for fields that are arrays of numbers.
template <auto Member>
constexpr auto get_array = &ArrayField<Member>::get;
template <auto Member>
constexpr auto set_array = guarded<&ArrayField<Member>::set>;

}  // namespace attn::wasm
