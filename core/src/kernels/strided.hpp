#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// A matrix in memory. Element (i, j) is at data[i · row + j · col].
template <class T>
struct Strided {
  T* data = nullptr;
  index row = 0;
  index col = 1;

  constexpr T* at(index i, index j = 0) const noexcept { return data + i * row + j * col; }
};

}  // namespace attn::kernels
