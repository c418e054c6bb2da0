#pragma once

#include <cstdint>
#include <vector>

namespace attn_test {

using Shape = std::vector<std::int64_t>;

inline std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

}  // namespace attn_test
