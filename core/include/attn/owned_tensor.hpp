#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// A tensor that owns its elements, row-major in memory. Copying it copies the elements. You can
/// pass it wherever a function takes a view: as an input, and as an output unless it is const.
///
/// A default-constructed or moved-from tensor means "none", like a default-constructed view.
class ATTN_API OwnedTensor {
 public:
  OwnedTensor() = default;

  /// Makes a tensor of zeros. Throws kSizeOverflow if the elements do not fit into the address
  /// space. May also throw std::bad_alloc or the errors of TensorView.
  explicit OwnedTensor(std::span<const std::int64_t> shape);
  OwnedTensor(std::initializer_list<std::int64_t> shape)
      : OwnedTensor(std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  /// Makes a tensor of these values, row-major. Throws the same errors as the constructor above,
  /// and kShapeMismatch unless there is one value for each element.
  OwnedTensor(std::span<const std::int64_t> shape, std::vector<float> values);
  OwnedTensor(std::initializer_list<std::int64_t> shape, std::vector<float> values)
      : OwnedTensor(std::span<const std::int64_t>(shape.begin(), shape.size()), std::move(values)) {
  }

  /// A view of the whole tensor, valid until the tensor is assigned to, moved from or destroyed.
  Tensor view() { return {values_.data(), shape_}; }
  ConstTensor view() const { return {values_.data(), shape_}; }
  operator Tensor() & { return view(); }
  operator ConstTensor() const { return view(); }

  int rank() const noexcept { return static_cast<int>(shape_.size()); }
  std::span<const std::int64_t> shape() const noexcept { return shape_; }
  /// The size of dimension `i`; a negative `i` counts from the last dimension.
  std::int64_t size(int i) const noexcept { return view().size(i); }

  /// The elements, row-major.
  std::span<float> values() noexcept { return values_; }
  std::span<const float> values() const noexcept { return values_; }

  /// The element at the given indices, which are not checked.
  template <class... Index>
  float& operator()(Index... index) noexcept {
    return view()(index...);
  }
  template <class... Index>
  const float& operator()(Index... index) const noexcept {
    return view()(index...);
  }

  /// Sets every element to `value`.
  void fill(float value) noexcept;

  /// True if shapes and elements are equal.
  friend bool operator==(const OwnedTensor&, const OwnedTensor&) = default;

 private:
  std::vector<std::int64_t> shape_;
  std::vector<float> values_;
};

}  // namespace attn
