#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "attn/tensor_view.hpp"

namespace attn_test {

/// The layout of a HostTensor's elements in memory.
enum class Layout {
  kContiguous,   ///< row-major
  kHeadsInside,  ///< rank 4 only: a (B, H, N, D) view of (B, N, H, D) memory
  kSpread,       ///< row-major with gaps everywhere: the innermost stride is 3
  kTransposed,   ///< the last two dimensions swapped in memory
  kReversed,     ///< every stride negative
};

/// A tensor with its own memory. The memory between and around its elements is filled with NaN (or
/// with bytes 0xA5), which must neither reach a result nor be overwritten.
template <class T>
class HostTensor {
 public:
  HostTensor() = default;

  HostTensor(std::vector<std::int64_t> shape, const std::vector<T>& values,
             Layout layout = Layout::kContiguous)
      : shape_(std::move(shape)) {
    const auto rank = static_cast<int>(shape_.size());
    // The dimensions in memory order, outermost first.
    std::vector<int> order(shape_.size());
    std::iota(order.begin(), order.end(), 0);
    if (layout == Layout::kHeadsInside && rank == 4) std::swap(order[1], order[2]);
    if (layout == Layout::kTransposed && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
    strides_.resize(shape_.size());
    std::int64_t stride = layout == Layout::kSpread ? 3 : 1;
    for (int i = rank - 1; i >= 0; --i) {
      strides_[order[i]] = stride;
      stride = stride * std::max<std::int64_t>(shape_[order[i]], 1);
      if (layout == Layout::kSpread) stride += 5;
    }
    std::memset(static_cast<void*>(&gap_), 0xA5, sizeof gap_);
    if constexpr (std::is_floating_point_v<T>) gap_ = std::numeric_limits<T>::quiet_NaN();
    memory_.assign(static_cast<std::size_t>(stride + 2 * kGuard), gap_);
    origin_ = kGuard;
    if (layout == Layout::kReversed) {
      for (int i = 0; i < rank; ++i) {
        if (shape_[i] > 0) origin_ += (shape_[i] - 1) * strides_[i];
        strides_[i] = -strides_[i];
      }
    }
    count_ = 1;
    for (const std::int64_t size : shape_) count_ *= size;
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), count_);
    is_element_.assign(memory_.size(), false);
    auto next = values.begin();
    for_each_position([&](std::size_t at) {
      memory_[at] = *next++;
      is_element_[at] = true;
    });
  }

  /// A tensor filled with `value`, for outputs.
  static HostTensor filled(std::vector<std::int64_t> shape, T value,
                           Layout layout = Layout::kContiguous) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return HostTensor(std::move(shape), std::vector<T>(static_cast<std::size_t>(count), value),
                      layout);
  }

  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return count_; }

  /// A view of the tensor; empty if the tensor is default-constructed.
  attn::TensorView<T> view() {
    if (memory_.empty()) return {};
    return attn::TensorView<T>(memory_.data() + origin_, shape_, strides_);
  }
  attn::TensorView<const T> view() const {
    if (memory_.empty()) return {};
    return attn::TensorView<const T>(memory_.data() + origin_, shape_, strides_);
  }

  /// The elements, row-major; empty for a default-constructed tensor.
  std::vector<T> values() const {
    std::vector<T> result;
    if (memory_.empty()) return result;
    result.reserve(static_cast<std::size_t>(count_));
    for_each_position([&](std::size_t at) { result.push_back(memory_[at]); });
    return result;
  }

  /// True if the memory between and around the elements is unchanged.
  bool gaps_are_untouched() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (!is_element_[i] && std::memcmp(&memory_[i], &gap_, sizeof(T)) != 0) return false;
    }
    return true;
  }

 private:
  /// Number of guard elements before and after the tensor.
  static constexpr std::int64_t kGuard = 24;

  /// Calls body(position in memory) for each element in row-major order.
  template <class F>
  void for_each_position(F&& body, std::size_t dimension = 0, std::int64_t at = 0) const {
    if (dimension == shape_.size()) return body(static_cast<std::size_t>(origin_ + at));
    for (std::int64_t i = 0; i < shape_[dimension]; ++i) {
      for_each_position(body, dimension + 1, at + i * strides_[dimension]);
    }
  }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<T> memory_;
  std::vector<char> is_element_;
  std::int64_t origin_ = 0;
  std::int64_t count_ = 0;
  T gap_{};
};

using FloatTensor = HostTensor<float>;

}  // namespace attn_test
