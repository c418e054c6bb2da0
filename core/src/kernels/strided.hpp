#pragma once

#include <type_traits>

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// A matrix in memory, or none if `data` is null. Element (i, j) is at data[i · row + j · col].
template <class T>
struct Strided {
  T* data = nullptr;
  index row = 0;
  index col = 1;

  constexpr operator Strided<const T>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {data, row, col};
  }
  constexpr explicit operator bool() const noexcept { return data != nullptr; }
  constexpr T* at(index i, index j = 0) const noexcept { return data + i * row + j * col; }
  constexpr T& operator()(index i, index j) const noexcept { return *at(i, j); }
  /// Returns the matrix without its first i rows.
  constexpr Strided rows_from(index i) const noexcept { return {at(i), row, col}; }
};

}  // namespace attn::kernels
