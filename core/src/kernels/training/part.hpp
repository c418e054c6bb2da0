#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {

/// The first `count` lanes from memory, the others zero.
template <class Isa>
ATTN_INLINE Floats<Isa> load_part(const float* from, index count) noexcept {
  float lanes[kWidth<Isa>] = {};
  for (index k = 0; k < count; ++k) lanes[k] = from[k];
  return Floats<Isa>::load_unaligned(lanes);
}

template <class Isa>
ATTN_INLINE void store_part(Floats<Isa> x, float* to, index count) noexcept {
  float lanes[kWidth<Isa>];
  x.store_unaligned(lanes);
  for (index k = 0; k < count; ++k) to[k] = lanes[k];
}

}  // namespace attn::kernels
