#pragma once

#include "attn/positions/rotary_embedding.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

/// `positions` may be null. If `sequence_length` is NaN, the default applies.
RotaryPositions rotary_positions(double start, const TensorArgument* positions,
                                 double sequence_length, bool inverse);

}  // namespace attn::wasm
