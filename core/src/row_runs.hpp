#pragma once

#include <algorithm>
#include <cstdint>

#include "attn/tensor_view.hpp"

namespace attn {

/// The element at row-major position `i` of a view of rank ≥ 1.
template <class T>
T* element(const TensorView<T>& view, std::int64_t i) noexcept {
  T* pointer = view.data();
  for (int d = view.rank() - 1; d >= 0; --d) {
    pointer += i % view.size(d) * view.stride(d);
    i /= view.size(d);
  }
  return pointer;
}

/// Calls body(first, count) for the runs of elements [begin, end), in row-major order. Each run is
/// within one row of the last dimension and therefore has one stride.
template <class F>
void for_row_runs(std::int64_t row_length, std::int64_t begin, std::int64_t end,
                  F&& body) noexcept {
  while (begin < end) {
    const std::int64_t count = std::min(end - begin, row_length - begin % row_length);
    body(begin, count);
    begin += count;
  }
}

}  // namespace attn
