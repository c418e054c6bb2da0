#pragma once

#include "attn/tensor_view.hpp"
#include "kernels/strided.hpp"

namespace attn {

/// Returns the matrix of a view's last two dimensions, starting at the element at `indices`.
template <class T, class... Index>
kernels::Strided<T> rows_at(const TensorView<T>& view, Index... indices) noexcept {
  return {view.pointer(indices...), view.stride(-2), view.stride(-1)};
}

}  // namespace attn
