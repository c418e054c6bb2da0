#pragma once

#include <algorithm>
#include <cstdint>

#include "attn/random.hpp"
#include "philox.hpp"

namespace attn {

/// Elements given random numbers by one task.
inline constexpr std::int64_t kElementsPerTask = 8192;

/// Calls body(i, words) for the blocks that elements [first, first + count) of a stream draw from;
/// i counts from `first` to the block's first word, and is negative where that lies before.
template <class F>
void for_random_blocks(const RandomStream& random, std::int64_t first, std::int64_t count,
                       F&& body) noexcept {
  for (std::int64_t i = -(first % 4); i < count; i += 4) {
    body(i, philox_block(static_cast<std::uint64_t>(first + i) / 4, random.stream, random.seed));
  }
}

/// Calls body(i, word) for each of these elements, 0 ≤ i < count.
template <class F>
void for_random_words(const RandomStream& random, std::int64_t first, std::int64_t count,
                      F&& body) noexcept {
  for_random_blocks(random, first, count, [&](std::int64_t i, const PhiloxCounter& words) noexcept {
    const std::int64_t end = std::min<std::int64_t>(4, count - i);
    for (std::int64_t k = std::max<std::int64_t>(0, -i); k < end; ++k) body(i + k, words[k]);
  });
}

}  // namespace attn
