#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "attn/positions/rotary_embedding.hpp"

/// The frequencies of rotary positions: the rules that scale them, and how axes share them.
namespace attn {

/// Checks sections, the scaling rule or the frequencies given, and returns the factor on cosines
/// and sines.
double check_rotary_frequencies(const RotaryEmbeddingOptions& options);

/// The length up to which sequences share their frequencies, for rules that depend on it.
std::optional<std::int64_t> longest_sequence_of_first_frequencies(
    const RotaryEmbeddingOptions& options) noexcept;

/// ω_0 … of all pairs in radians, by the rule of checked options, for a sequence of this length.
void write_rotary_frequencies(const RotaryEmbeddingOptions& options, double sequence_length,
                              std::span<double> to);

/// Requires frequencies that can be multiplied with any position.
void require_usable_frequencies(std::span<const double> frequencies);

}  // namespace attn
