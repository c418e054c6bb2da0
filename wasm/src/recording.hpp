#pragma once

#include <cstdint>

#include "attn/id_view.hpp"
#include "attn/training/tape.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

/// What JavaScript gives, or the default where it gives null.
template <class T>
T given(const T* value) {
  return value ? *value : T();
}

inline IdView ids(const TensorArgument& tensor) { return tensor.as<const std::int32_t>(); }

}  // namespace attn::wasm
