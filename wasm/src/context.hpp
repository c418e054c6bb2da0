#pragma once

#include "attn/context.hpp"

namespace attn::wasm {

/// The context of all calls.
Context& context();

}  // namespace attn::wasm
