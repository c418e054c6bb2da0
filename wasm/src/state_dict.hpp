#pragma once

#include <string>

#include "arrays.hpp"
#include "attn/io/state_dict.hpp"

namespace attn::wasm {

/// Names that are only in the file or only in the layer that loads it.
struct UnsharedNames {
  Texts missing_keys;
  Texts unexpected_keys;
};

UnsharedNames load_state(Module& layer, const Safetensors& file, const std::string& prefix,
                         bool strict);

inline UnsharedNames unshared_names(const IncompatibleKeys& keys) {
  return {texts(keys.missing_keys), texts(keys.unexpected_keys)};
}

}  // namespace attn::wasm
