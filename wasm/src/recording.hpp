#pragma once

#include <cstdint>

#include "attn/id_view.hpp"
#include "attn/training/tape.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

/// Returns the value, or the default if JavaScript passes null.
template <class T>
T given(const T* value) {
  return value ? *value : T();
}

inline IdView ids(const TensorArgument& tensor) { return tensor.as<const std::int32_t>(); }

}  // namespace attn::wasm
