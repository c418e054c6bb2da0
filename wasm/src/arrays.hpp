#pragma once

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::wasm {

/// What calls return that is an array in JavaScript; without one after an error.
struct Texts : emscripten::val {
  explicit Texts(const emscripten::val& array = undefined()) : val(array) {}
};
struct Sizes : emscripten::val {
  explicit Sizes(const emscripten::val& array = undefined()) : val(array) {}
};

inline Texts texts(const std::vector<std::string>& strings) {
  return Texts(emscripten::val::array(strings));
}

inline Sizes sizes(std::span<const std::int64_t> shape) {
  return Sizes(emscripten::val::array(std::vector<double>(shape.begin(), shape.end())));
}

}  // namespace attn::wasm
