#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"

namespace attn {

/// Calls set(i, values) for every target that is in the file, in their order, once all has been
/// checked; `values` are row-major and of the target's shape. Names are those of the file, which
/// all begin with `prefix`. Throws what load_state_dict() does, kNotFound with what `owner` is:
/// "this module's parameters"; and what `set` does.
IncompatibleKeys load_named_tensors(std::span<const NamedTensor> targets, const char* owner,
                                    const Safetensors& file, std::string_view prefix, bool strict,
                                    const std::function<void(std::size_t, const Tensor&)>& set);

}  // namespace attn
