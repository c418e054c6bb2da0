#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "attn/positions/rotary_embedding.hpp"

/// The frequencies of rotary positions: the rules that scale them, and their division among axes.
namespace attn {

/// Checks the sections, and the scaling rule or the given frequencies. Returns the factor by which
/// cosines and sines are multiplied.
double check_rotary_frequencies(const RotaryEmbeddingOptions& options);

/// The sequence length up to which the frequencies do not change. Empty for rules that do not
/// depend on the length.
std::optional<std::int64_t> longest_sequence_of_first_frequencies(
    const RotaryEmbeddingOptions& options) noexcept;

/// Writes the frequencies ω_0, ω_1, … of all pairs, in radians per position, for a sequence of this
/// length. The options must have been checked.
void write_rotary_frequencies(const RotaryEmbeddingOptions& options, double sequence_length,
                              std::span<double> to);

/// Requires that the product of each frequency with any position is finite.
void require_usable_frequencies(std::span<const double> frequencies);

}  // namespace attn
