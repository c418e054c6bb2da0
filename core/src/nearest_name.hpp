#pragma once

#include <span>
#include <string>
#include <string_view>

namespace attn {

/// Returns the element of `names` with the smallest Levenshtein distance to `name`: the number of
/// single-character insertions, deletions and substitutions that turn it into `name`. If several
/// elements are equally near, returns the first of them. `names` must not be empty.
const std::string& nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace attn
