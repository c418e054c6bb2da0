#pragma once

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::wasm {

/// What calls take or return that is an array in JavaScript; without one after an error.
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

}  // namespace attn::wasm
