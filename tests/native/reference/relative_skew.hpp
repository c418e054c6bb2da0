#pragma once

#include "reference/array.hpp"

namespace reference {

/// Skew(Q · E^rᵀ), computed in the steps of the Music Transformer paper: product, padding,
/// reshaping, slicing. query and embeddings are both (N, D). The result (N, N) is only meaningful
/// for j ≤ i. `error` is Σ|q·e| for each element.
Bounded relative_skew(const Array& query, const Array& embeddings);

/// q_i · a_(clip(j − i)) as (N, N), for a Shaw table (2k + 1, D). `error` is Σ|q·a| for each
/// element.
Bounded shaw_logits(const Array& query, const Array& table);

}  // namespace reference
