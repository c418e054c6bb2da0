#pragma once

#include "attn/pooling/attention_pooling.hpp"

namespace attn::wasm {

/// `parameter` is the scale of scaled dot products or the width of a kernel; NaN means the default.
ScoringFunction scoring_function(ScoringFunction::Kind kind, float parameter);

}  // namespace attn::wasm
