#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// A tensor that owns its elements, row-major in memory. A copy has elements of its own. Functions
/// take it where they take a view: as an input, and as an output unless it is const.
///
/// A default-made one stands for "none", as a default-made view does, and so does one that has been
/// moved from.
class ATTN_API OwnedTensor {
 public:
  OwnedTensor() = default;

  /// Zeros. Throws what TensorView does, kSizeOverflow for more elements than fit into the address
  /// space, and std::bad_alloc.
  explicit OwnedTensor(std::span<const std::int64_t> shape);
  OwnedTensor(std::initializer_list<std::int64_t> shape)
      : OwnedTensor(std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  /// These values, row-major. Throws the same, and kShapeMismatch unless there is one for each
  /// element.
  OwnedTensor(std::span<const std::int64_t> shape, std::vector<float> values);
  OwnedTensor(std::initializer_list<std::int64_t> shape, std::vector<float> values)
      : OwnedTensor(std::span<const std::int64_t>(shape.begin(), shape.size()), std::move(values)) {
  }

  /// The whole tensor. Valid until it is assigned to, moved from or destroyed.
  Tensor view() { return {values_.data(), shape_}; }
  ConstTensor view() const { return {values_.data(), shape_}; }
  operator Tensor() & { return view(); }
  operator ConstTensor() const { return view(); }

  int rank() const noexcept { return static_cast<int>(shape_.size()); }
  std::span<const std::int64_t> shape() const noexcept { return shape_; }
  /// The size of dimension `i`; a negative `i` counts from the last one.
  std::int64_t size(int i) const noexcept { return view().size(i); }

  /// The elements, row-major.
  std::span<float> values() noexcept { return values_; }
  std::span<const float> values() const noexcept { return values_; }

  /// The element at the given indices, unchecked.
  template <class... Index>
  float& operator()(Index... index) noexcept {
    return view()(index...);
  }
  template <class... Index>
  const float& operator()(Index... index) const noexcept {
    return view()(index...);
  }

  /// Sets every element.
  void fill(float value) noexcept;

  /// Whether shapes and elements are equal.
  friend bool operator==(const OwnedTensor&, const OwnedTensor&) = default;

 private:
  std::vector<std::int64_t> shape_;
  std::vector<float> values_;
};

}  // namespace attn
