#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"

namespace attn {

/// Checks everything, then calls set(i, values) for every target in the file, in order; `values`
/// are row-major and have the target's shape. The targets' names are the names in the file and
/// include `prefix`. Throws the same errors as load_state_dict() or `set`. The message of kNotFound
/// contains `owner` (e.g. "this module's parameters").
IncompatibleKeys load_named_tensors(std::span<const NamedTensor> targets, const char* owner,
                                    const Safetensors& file, std::string_view prefix, bool strict,
                                    const std::function<void(std::size_t, const Tensor&)>& set);

}  // namespace attn
