#pragma once

// Rotation of pairs of columns: out[c] = keep[c]·x[c] + cross[c]·x[partner of c].

#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// In the interleaved layout, lanes 0 and 1 are partners, lanes 2 and 3 are partners, and so on.
struct SwapNeighbours {
  static constexpr std::uint32_t get(std::uint32_t i, std::uint32_t) { return i ^ 1U; }
};

template <class Isa>
ATTN_INLINE Floats<Isa> swap_neighbours(Floats<Isa> x) noexcept {
  return xsimd::swizzle(
      x, xsimd::make_batch_constant<std::uint32_t, typename Isa::Arch, SwapNeighbours>());
}

template <class Isa>
void rotate_pairs(const RotationArgs& p) noexcept {
  using F = Floats<Isa>;
  constexpr index kW = kWidth<Isa>;
  const index half = p.cols / 2;
  const bool contiguous = p.x.col == 1 && p.out.col == 1;
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x.at(i);
    const float* keep = p.keep + i * p.table_row;
    const float* cross = p.cross + i * p.table_row;
    float* out = p.out.at(i);
    // Rotates one pair with the same arithmetic as a lane of a vector, so that results are
    // bit-identical for all strides.
    const auto rotate = [&](index a, index b) ATTN_INLINED {
      const F first(x[a * p.x.col]);
      const F second(x[b * p.x.col]);
      const F to_a = Isa::madd(F(keep[a]), first, F(cross[a]) * second);
      const F to_b = Isa::madd(F(keep[b]), second, F(cross[b]) * first);
      out[a * p.out.col] = to_a.get(0);
      out[b * p.out.col] = to_b.get(0);
    };
    if (p.interleaved) {
      index c = 0;
      for (; contiguous && c + kW <= p.cols; c += kW) {
        const F value = F::load_unaligned(x + c);
        const F crossed = F::load_unaligned(cross + c) * swap_neighbours<Isa>(value);
        Isa::madd(F::load_unaligned(keep + c), value, crossed).store_unaligned(out + c);
      }
      for (; c < p.cols; c += 2) rotate(c, c + 1);
    } else {
      index c = 0;
      for (; contiguous && c + kW <= half; c += kW) {
        const index d = half + c;
        const F first = F::load_unaligned(x + c);
        const F second = F::load_unaligned(x + d);
        const F to_c =
            Isa::madd(F::load_unaligned(keep + c), first, F::load_unaligned(cross + c) * second);
        const F to_d =
            Isa::madd(F::load_unaligned(keep + d), second, F::load_unaligned(cross + d) * first);
        to_c.store_unaligned(out + c);
        to_d.store_unaligned(out + d);
      }
      for (; c < half; ++c) rotate(c, half + c);
    }
  }
}

}  // namespace attn::kernels
