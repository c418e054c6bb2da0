#pragma once

#include <span>
#include <string>
#include <string_view>

namespace attn {

/// Of several names, of which there is at least one, that which takes the fewest insertions,
/// deletions and substitutions of a character to become `name`; of equally near ones the first.
const std::string& nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace attn
