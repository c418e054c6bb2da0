#pragma once

#include <algorithm>

#include "attn/layers/activation.hpp"
#include "kernels/gelu.hpp"
#include "kernels/row_args.hpp"
#include "kernels/simd.hpp"

namespace attn::kernels {

/// out = f(x), or f(x) · factor, for contiguous whole vectors.
using MapVectors = void (*)(index count, const float* x, const float* factor, float* out) noexcept;

/// out = f(x), or f(x) · factor, for any strides. Columns that are not contiguous go through a
/// buffer.
template <class Isa>
void map(const MapArgs& p, MapVectors map_vectors) noexcept {
  constexpr index kW = kWidth<Isa>;
  const bool side_by_side = p.x.col == 1 && p.out.col == 1 && (!p.factor || p.factor.col == 1);
  for (index i = 0; i < p.rows; ++i) {
    const float* x = p.x.at(i);
    const float* factor = p.factor ? p.factor.at(i) : nullptr;
    float* out = p.out.at(i);
    const index whole = side_by_side ? p.cols / kW * kW : 0;
    map_vectors(whole, x, factor, out);
    for (index c = whole; c < p.cols; c += kGathered) {
      const index count = std::min(kGathered, p.cols - c);
      float values[kGathered] = {}, factors[kGathered] = {};
      copy_row<Isa>(count, x + c * p.x.col, p.x.col, values, 1);
      if (factor) copy_row<Isa>(count, factor + c * p.factor.col, p.factor.col, factors, 1);
      map_vectors(round_up(count, kW), values, factor ? factors : nullptr, values);
      copy_row<Isa>(count, values, 1, out + c * p.out.col, p.out.col);
    }
  }
}

/// Makes a MapVectors that calls Function, a stateless function of one vector.
template <class Isa, class Function>
void map_vectors(index count, const float* x, const float* factor, float* out) noexcept {
  using F = Floats<Isa>;
  for (index c = 0; c < count; c += kWidth<Isa>) {
    F y = Function{}(F::load_unaligned(x + c));
    if (factor) y *= F::load_unaligned(factor + c);
    y.store_unaligned(out + c);
  }
}
/// The kernel that applies a stateless function of vectors to every element.
template <class Isa, class Function>
MapKernel map_kernel(Function) noexcept {
  return [](const MapArgs& p) noexcept { map<Isa>(p, &map_vectors<Isa, Function>); };
}

/// The kernel of an activation, or null if there is no such activation.
template <class Isa>
MapKernel choose_activation(Activation activation) noexcept {
  using F = Floats<Isa>;
  switch (activation) {
    case Activation::kRelu:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return Isa::at_least(x, F(0.0F)); });
    case Activation::kGelu:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return gelu<Isa>(x); });
    case Activation::kGeluTanh:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return gelu_tanh<Isa>(x); });
    case Activation::kSilu:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return x * sigmoid<Isa>(x); });
    case Activation::kTanh:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return tanh<Isa>(x); });
    case Activation::kSigmoid:
      return map_kernel<Isa>([](F x) ATTN_INLINED { return sigmoid<Isa>(x); });
  }
  return nullptr;
}

}  // namespace attn::kernels
