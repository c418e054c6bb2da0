#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "attn/error.hpp"
#include "attn/tensor_view.hpp"

/// How the public boundary says what is wrong: the argument's name first, then what it got, then
/// what it needs.
namespace attn::validation {

/// "(2, 4, 100)"
std::string to_string(std::span<const std::int64_t> shape);

[[noreturn]] void fail(ErrorCode code, const std::string& message);

/// Throws kInvalidArgument: `name: got 3, needs …`.
[[noreturn]] void fail_value(const char* name, double got, const std::string& needs);
/// The same with all digits of an integer.
template <std::integral T>
[[noreturn]] void fail_value(const char* name, T got, const std::string& needs) {
  fail(ErrorCode::kInvalidArgument,
       std::string(name) + ": got " + std::to_string(got) + ", needs " + needs);
}

/// Throws kShapeMismatch: `name: got shape (2, 3), needs …`.
[[noreturn]] void fail_shape(const char* name, std::span<const std::int64_t> got,
                             const std::string& needs);

/// Requires value ≥ least.
void require_at_least(const char* name, std::int64_t value, std::int64_t least);

/// Requires 0 ≤ value ≤ 1.
void require_probability(const char* name, double value);

/// The product of sizes; throws kSizeOverflow when it does not fit.
std::int64_t product(const char* name, std::span<const std::int64_t> sizes);
inline std::int64_t product(const char* name, std::initializer_list<std::int64_t> sizes) {
  return product(name, std::span<const std::int64_t>(sizes.begin(), sizes.size()));
}

/// `count` elements of `bytes` each as a size to allocate; throws kSizeOverflow when they exceed
/// the address space, which on 32-bit machines is far smaller than a count may be.
std::size_t allocation(const char* name, std::int64_t count, std::size_t bytes);

/// Requires a shape; a size of −1 in `needed` accepts any.
template <class T>
void require_shape(const char* name, const TensorView<T>& view,
                   std::initializer_list<std::int64_t> needed) {
  const std::span<const std::int64_t> want(needed.begin(), needed.size());
  bool same = view.rank() == static_cast<int>(want.size());
  for (int i = 0; same && i < view.rank(); ++i) same = want[i] < 0 || view.size(i) == want[i];
  if (!same) fail_shape(name, view.shape(), "shape " + to_string(want));
}

/// Requires the shape of another tensor.
template <class T, class U>
void require_same_shape(const char* name, const TensorView<T>& view, const TensorView<U>& other) {
  if (!std::ranges::equal(view.shape(), other.shape())) {
    fail_shape(name, view.shape(), "shape " + to_string(other.shape()));
  }
}

/// Requires that a view's elements can be counted and addressed, and memory behind them if there
/// are any.
template <class T>
void require_data(const char* name, const TensorView<T>& view) {
  for (const std::int64_t size : view.shape()) {
    if (size == 0) return;
  }
  std::int64_t bytes = sizeof(T);
  for (const std::int64_t size : view.shape()) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      fail(ErrorCode::kSizeOverflow, std::string(name) + ": shape " + to_string(view.shape()) +
                                         " has more elements than can be addressed");
    }
  }
  if (view.data() == nullptr) {
    fail(ErrorCode::kInvalidArgument, std::string(name) + ": data is null");
  }
}

/// `view` seen with the leading and missing dimensions of `shape`, those of size 1 repeated with
/// stride 0 (NumPy's broadcasting, from the right). Throws when the shapes do not fit.
template <class T>
TensorView<T> broadcast(const char* name, const TensorView<T>& view,
                        std::initializer_list<std::int64_t> shape) {
  const std::span<const std::int64_t> want(shape.begin(), shape.size());
  const int rank = static_cast<int>(want.size());
  std::array<std::int64_t, TensorView<T>::kMaxRank> strides{};
  const int missing = rank - view.rank();
  bool fits = missing >= 0;
  for (int i = 0; fits && i < view.rank(); ++i) {
    const std::int64_t size = view.size(i);
    fits = size == 1 || size == want[missing + i];
    strides[missing + i] = size == 1 ? 0 : view.stride(i);
  }
  if (!fits) {
    fail_shape(name, view.shape(), "a shape that broadcasts to " + to_string(want));
  }
  return TensorView<T>(view.data(), want,
                       std::span<const std::int64_t>(strides.data(), want.size()));
}

}  // namespace attn::validation
