#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {

// load_part and store_part handle the end of a row. They are not inlined, so that their code exists
// only once.

/// Loads the first `count` lanes; the others are zero.
template <class Isa>
__attribute__((noinline)) Floats<Isa> load_part(const float* from, index count) noexcept {
  float lanes[kWidth<Isa>] = {};
  for (index k = 0; k < count; ++k) lanes[k] = from[k];
  return Floats<Isa>::load_unaligned(lanes);
}

template <class Isa>
__attribute__((noinline)) void store_part(Floats<Isa> x, float* to, index count) noexcept {
  float lanes[kWidth<Isa>];
  x.store_unaligned(lanes);
  for (index k = 0; k < count; ++k) to[k] = lanes[k];
}

/// Loads a vector. If `count` is less than its number of lanes, loads only the first `count` lanes;
/// the others are zero.
template <class Isa>
ATTN_INLINE Floats<Isa> load_up_to(const float* from, index count) noexcept {
  return count < kWidth<Isa> ? load_part<Isa>(from, count) : Floats<Isa>::load_unaligned(from);
}

template <class Isa>
ATTN_INLINE void store_up_to(Floats<Isa> x, float* to, index count) noexcept {
  if (count < kWidth<Isa>) {
    store_part<Isa>(x, to, count);
  } else {
    x.store_unaligned(to);
  }
}

}  // namespace attn::kernels
