#pragma once

#include "reference/array.hpp"

namespace reference {

/// Skew(Q · E^rᵀ) of Music Transformer by the letter: product, padding, reshaping, slicing. query
/// (N, D), embeddings (N, D), so as many as queries; the result (N, N) is meant for j ≤ i only.
/// `error` is Σ|q·e| of each.
Bounded relative_skew(const Array& query, const Array& embeddings);

/// q_i · a_(clip(j − i)) from a table (2k + 1, D) of Shaw: (N, N). `error` as above.
Bounded shaw_logits(const Array& query, const Array& table);

}  // namespace reference
