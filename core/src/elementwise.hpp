#pragma once

#include <cstdint>
#include <span>

#include "attn/any_tensor.hpp"
#include "attn/tensor_view.hpp"
#include "function_ref.hpp"
#include "row_runs.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Approximate number of elements that one task computes or copies; tasks may be rounded to whole
/// rows. Smaller tasks would not justify waking another thread.
inline constexpr std::int64_t kElementsPerTask = 8192;

/// Views a tensor without gaps as one row.
template <class T>
TensorView<T> flat(const TensorView<T>& x) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : x.shape()) count *= size;
  return TensorView<T>(x.data(), {count});
}

/// Calls body(first, count) on all threads for runs of elements [first, first + count) in row-major
/// order. Each run is within one row of a view of this shape.
void for_all_row_runs(std::span<const std::int64_t> shape, runtime::Execution& run,
                      FunctionRef<void(std::int64_t first, std::int64_t count)> body) noexcept;

/// Copies `from` to `to`. Both have the same shape; their strides may differ.
void copy(const ConstTensor& from, const Tensor& to, runtime::Execution& run) noexcept;

/// Like copy(), but from or to other element types: widening is exact, and narrowing rounds to the
/// nearest number.
void widen(const ConstAnyTensor& from, const Tensor& to, runtime::Execution& run) noexcept;
void narrow(const ConstTensor& from, const AnyTensor& to, runtime::Execution& run) noexcept;

/// out = a + b, for equal shapes and any strides; out may be a or b.
void add(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
         runtime::Execution& run) noexcept;

}  // namespace attn
