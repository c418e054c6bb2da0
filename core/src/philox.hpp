#pragma once

#include <array>
#include <cstdint>

namespace attn {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32-10, to be inlined into loops. The constants are those of Salmon et al. 2011, table 2
/// and section 4.3.
inline PhiloxCounter philox_block(PhiloxCounter c, PhiloxKey k) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

/// Two 32-bit words, the low one first.
constexpr std::array<std::uint32_t, 2> split_words(std::uint64_t value) noexcept {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}

/// The block of two 64-bit counters under a 64-bit key.
inline PhiloxCounter philox_block(std::uint64_t low, std::uint64_t high,
                                  std::uint64_t key) noexcept {
  const auto [c0, c1] = split_words(low);
  const auto [c2, c3] = split_words(high);
  return philox_block({c0, c1, c2, c3}, split_words(key));
}

}  // namespace attn
