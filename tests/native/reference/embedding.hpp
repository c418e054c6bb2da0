#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Returns the rows `tokens` of a table (V, E) as (N, E).
template <class T>
ArrayOf<T> embedding(const ArrayOf<T>& table, const std::vector<std::int64_t>& tokens) {
  ArrayOf<T> result({static_cast<std::int64_t>(tokens.size()), table.size(1)});
  for (std::int64_t i = 0; i < result.size(0); ++i) {
    for (std::int64_t c = 0; c < table.size(1); ++c) {
      result.at({i, c}) = table.at({tokens[static_cast<std::size_t>(i)], c});
    }
  }
  return result;
}

}  // namespace reference
