#pragma once

#include "reference/array.hpp"

namespace reference {

/// Skew(Q · E^rᵀ), literally as in Music Transformer: product, padding, reshaping, slicing. query
/// is (N, D), and embeddings are (N, D), as many as queries. The result (N, N) is only meaningful
/// for j ≤ i. `error` is Σ|q·e| of each element.
Bounded relative_skew(const Array& query, const Array& embeddings);

/// q_i · a_(clip(j − i)) from a Shaw table (2k + 1, D): (N, N). `error` is as above.
Bounded shaw_logits(const Array& query, const Array& table);

}  // namespace reference
