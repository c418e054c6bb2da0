#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"

namespace attn {

/// After checking everything, calls set(i, values) for every target in the file, in order; `values`
/// are row-major and have the target's shape. Names are names in the file, all with `prefix`.
/// Throws what load_state_dict() throws, with `owner` (e.g. "this module's parameters") in
/// kNotFound, and what `set` throws.
IncompatibleKeys load_named_tensors(std::span<const NamedTensor> targets, const char* owner,
                                    const Safetensors& file, std::string_view prefix, bool strict,
                                    const std::function<void(std::size_t, const Tensor&)>& set);

}  // namespace attn
