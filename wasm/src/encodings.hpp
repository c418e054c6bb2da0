#pragma once

#include "attn/positions/rotary_embedding.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

/// `positions` may be null; a `sequence_length` of NaN stands for the default.
RotaryPositions rotary_positions(double start, const TensorArgument* positions,
                                 double sequence_length, bool inverse);

}  // namespace attn::wasm
