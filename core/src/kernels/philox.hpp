#pragma once

// Philox4x32-10 (Salmon et al. 2011), one block per 64-bit lane: the four words of a block are in
// the low halves of four vectors. The high halves are garbage, which the widening product ignores.

#include <algorithm>
#include <array>

#include "kernels/simd.hpp"

namespace attn::kernels {

template <class Isa>
using Words = xsimd::batch<std::uint64_t, typename Isa::Arch>;

/// Number of generator blocks computed in one vector.
template <class Isa>
inline constexpr index kPhiloxBlocks = static_cast<index>(Words<Isa>::size);

/// Writes the words of blocks first … first + kPhiloxBlocks − 1, four per block.
template <class Isa>
void philox_vector(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                   std::uint32_t* out) noexcept {
  using W = Words<Isa>;
  constexpr index kBlocks = kPhiloxBlocks<Isa>;
  // The array is a constant. If its elements were stored at run time, loading them as a vector
  // right afterwards would stall the processor, and vectors would be computed one after another.
  alignas(64) static constexpr std::uint64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static_assert(kBlocks <= 8);
  const W low(0xFFFFFFFFU);
  W c[4];
  c[0] = W(first) + W::load_aligned(kNumbers);
  c[1] = c[0] >> 32;
  c[2] = W(stream);
  c[3] = W(stream >> 32);
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  unroll<10>([&](auto) ATTN_INLINED {
    const W a = Isa::multiply_wide(c[0], W(0xD2511F53U));
    const W b = Isa::multiply_wide(c[2], W(0xCD9E8D57U));
    c[0] = (b >> 32) ^ c[1] ^ W(key0);
    c[1] = b;
    c[2] = (a >> 32) ^ c[3] ^ W(key1);
    c[3] = a;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  });
  const W first_half = (c[0] & low) | (c[1] << 32);
  const W second_half = (c[2] & low) | (c[3] << 32);
  alignas(64) std::uint64_t pairs[2 * kBlocks];
  xsimd::zip_lo(first_half, second_half).store_aligned(pairs);
  xsimd::zip_hi(first_half, second_half).store_aligned(pairs + kBlocks);
  __builtin_memcpy(out, pairs, sizeof pairs);
}

template <class Isa>
void random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                  index num_blocks, std::uint32_t* out) noexcept {
  constexpr index kBlocks = kPhiloxBlocks<Isa>;
  index i = 0;
  for (; i + kBlocks <= num_blocks; i += kBlocks) {
    philox_vector<Isa>(seed, stream, first_block + static_cast<std::uint64_t>(i), out + 4 * i);
  }
  if (i < num_blocks) {
    std::uint32_t rest[4 * kBlocks];
    philox_vector<Isa>(seed, stream, first_block + static_cast<std::uint64_t>(i), rest);
    std::copy_n(rest, 4 * (num_blocks - i), out + 4 * i);
  }
}

}  // namespace attn::kernels
