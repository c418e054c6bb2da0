#pragma once

#include <algorithm>
#include <cstdint>

#include "attn/random.hpp"
#include "kernels/kernel_table.hpp"

namespace attn {

/// Number of words generated at once: the words of 64 generator blocks.
inline constexpr std::int64_t kRandomWords = 256;

/// Divides elements [first, first + count) of a random stream into pieces, and calls
/// body(i, n, skip, words) for each piece. words[skip + k] is the word of element first + i + k,
/// for 0 ≤ k < n. words[0] is the first word of a generator block.
template <class F>
void for_random_words(const kernels::KernelTable& kernels, const RandomStream& random,
                      std::int64_t first, std::int64_t count, F&& body) noexcept {
  std::uint32_t words[kRandomWords];
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t skip = (first + i) % 4;
    const std::int64_t n = std::min(count - i, kRandomWords - skip);
    kernels.random_words(random.seed, random.stream, static_cast<std::uint64_t>(first + i) / 4,
                         (skip + n + 3) / 4, words);
    body(i, n, skip, words);
    i += n;
  }
}

}  // namespace attn
