#pragma once

#include <span>

#include "attn/export.hpp"

namespace attn {

/// Fills `slopes` (H) with ALiBi's slope for each head (Press et al. 2022, arXiv:2108.12409):
///
///   H a power of two:  slope_h = 2^(−8·(h+1)/H)
///   otherwise:         the slopes for P, the largest power of two below H, and then
///                      the slopes for 2P with even h, as in the authors' code
///
/// Pass the slopes as AttentionOptions::alibi_slopes, which adds −slope_h · |distance| to the
/// scores. Each slope is the exact value rounded once to float. Nothing is written for H = 0.
ATTN_API void alibi_slopes(std::span<float> slopes) noexcept;

}  // namespace attn
