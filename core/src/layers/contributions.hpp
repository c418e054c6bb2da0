#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/layers/contributions.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/transformer_encoder.hpp"

namespace attn {

/// Throws kUnsupported unless the stack's residual stream is a sum, i.e. no layer normalises it.
void require_residual_sum(const TransformerEncoder& stack);

/// Throws kInvalidArgument unless 0 ≤ position < length.
void require_position(std::int64_t position, std::int64_t length);

/// Names of the intermediates from which contributions are computed. Each begins with `path`.
std::vector<std::string> contribution_names(const TransformerEncoder& stack,
                                            const std::string& path);

/// Computes the contributions to the dot product of `direction` (E) and row `position` of the
/// stack's output. `shown` contains the intermediates that contribution_names() lists, without a
/// batch dimension.
Contributions contributions_of(const TransformerEncoder& stack, const Intermediates& shown,
                               const std::string& path, std::vector<double> direction,
                               std::int64_t position);

}  // namespace attn
