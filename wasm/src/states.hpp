#pragma once

#include <vector>

#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/transformer_decoder.hpp"

namespace attn::wasm {

/// The caches of a stack, one per layer.
using Caches = std::vector<KeyValueCache>;

}  // namespace attn::wasm
