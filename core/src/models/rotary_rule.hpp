#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "models/model_config.hpp"

namespace attn {

/// Reads the rotary positions for heads with `head_dim` columns. Each field of the rule is taken
/// from the first object in `paths` that contains it. `base` applies if the rule has no rope_theta.
/// If the rule has no partial_rotary_factor, the field named `rotated` gives the fraction of each
/// head that is rotated; `rotated` is null if models of the family rotate whole heads.
RotaryEmbeddingOptions read_rotary_rule(const ModelConfig& config, std::vector<std::string> paths,
                                        double base, std::int64_t head_dim,
                                        const char* rotated = nullptr);

}  // namespace attn
