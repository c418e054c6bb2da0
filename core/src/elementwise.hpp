#pragma once

#include <algorithm>
#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/tensor_view.hpp"
#include "row_runs.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Elements that one task computes or copies, at most a row more: less is not worth a thread.
inline constexpr std::int64_t kElementsPerTask = 8192;

/// Calls body(first, count) for the runs of elements [first, first + count), in row-major order,
/// that lie in one row of a view each; on all threads.
template <class T, class F>
void for_all_row_runs(const TensorView<T>& view, runtime::Execution& run, F&& body) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : view.shape()) {
    if (size == 0) return;
    count *= size;
  }
  run.parallel_for(
      (count + kElementsPerTask - 1) / kElementsPerTask, [&](std::int64_t task, int) noexcept {
        const std::int64_t begin = task * kElementsPerTask;
        for_row_runs(view.size(-1), begin, std::min(begin + kElementsPerTask, count), body);
      });
}

/// to = from, of one shape and any strides.
void copy(const ConstTensor& from, const Tensor& to, runtime::Execution& run) noexcept;

/// The same, of any types: exactly, or to the nearest.
void widen(const ConstAnyTensor& from, const Tensor& to, runtime::Execution& run) noexcept;
void narrow(const ConstTensor& from, const AnyTensor& to, runtime::Execution& run) noexcept;

/// out = a + b, of one shape and any strides; out may be a or b.
void add(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
         runtime::Execution& run) noexcept;

}  // namespace attn
