#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include "attn/element_type.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// A view of float32, float16 or bfloat16 elements whose type is known only at run time. Functions
/// that read or write tensors of any element type take such a view. A TensorView of any of these
/// types converts to an AnyTensorView. So does anything that converts to a Tensor or ConstTensor,
/// such as an OwnedTensor.
///
/// A default-constructed view means "none". As in a TensorView, dimensions, indices and ranges are
/// not checked.
template <bool Constant>
class AnyTensorView {
  template <class T>
  using Stored = std::conditional_t<Constant, const T, std::remove_const_t<T>>;

 public:
  AnyTensorView() = default;

  template <Element T>
    requires(Constant || !std::is_const_v<T>)
  AnyTensorView(const TensorView<T>& view)
      : view_(reinterpret_cast<Stored<float>*>(view.data()), view.shape(), view.strides()),
        type_(kElementType<T>) {}

  /// Accepts everything that converts to a view of float32 elements.
  template <class T>
    requires(std::convertible_to<T &&, TensorView<Stored<float>>>)
  AnyTensorView(T&& tensor) : view_(std::forward<T>(tensor)) {}

  /// A row-major view, with the same checks as TensorView.
  template <Element T>
    requires(Constant || !std::is_const_v<T>)
  AnyTensorView(T* data, std::span<const std::int64_t> shape)
      : AnyTensorView(TensorView<T>(data, shape)) {}
  template <Element T>
    requires(Constant || !std::is_const_v<T>)
  AnyTensorView(T* data, std::initializer_list<std::int64_t> shape)
      : AnyTensorView(TensorView<T>(data, shape)) {}

  template <Element T>
    requires(Constant || !std::is_const_v<T>)
  AnyTensorView(T* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : AnyTensorView(TensorView<T>(data, shape, strides)) {}

  /// A float32 view that has a shape but no data.
  AnyTensorView(std::nullptr_t, std::initializer_list<std::int64_t> shape)
      : view_(nullptr, shape) {}

  /// A view of mutable elements converts to a view of constant elements.
  template <bool Other>
    requires(Constant && !Other)
  AnyTensorView(const AnyTensorView<Other>& other) : AnyTensorView(other.view_, other.type_) {}

  ElementType type() const noexcept { return type_; }
  Stored<void>* data() const noexcept { return view_.data(); }
  /// The size of an element in bytes.
  std::int64_t element_bytes() const noexcept { return type_ == ElementType::kFloat32 ? 4 : 2; }

  // These functions work like the functions of the same names in TensorView. Strides are in
  // elements.
  int rank() const noexcept { return view_.rank(); }
  [[nodiscard]] bool is_none() const noexcept { return view_.is_none(); }
  std::span<const std::int64_t> shape() const noexcept { return view_.shape(); }
  std::span<const std::int64_t> strides() const noexcept { return view_.strides(); }
  std::int64_t size(int i) const noexcept { return view_.size(i); }
  std::int64_t stride(int i) const noexcept { return view_.stride(i); }
  bool is_contiguous() const noexcept { return view_.is_contiguous(); }

  /// Returns the view as a TensorView<T>, where T must match type().
  template <Element T>
  TensorView<Stored<T>> as() const {
    return TensorView<Stored<T>>(reinterpret_cast<Stored<T>*>(view_.data()), shape(), strides());
  }

  /// Calls `function(as<T>())`, where T matches type(), and returns its result.
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    switch (type_) {
      case ElementType::kFloat16:
        return function(as<Float16>());
      case ElementType::kBFloat16:
        return function(as<BFloat16>());
      default:
        return function(view_);
    }
  }

  /// The following functions return views, like the functions of the same names in TensorView.
  [[nodiscard]] AnyTensorView select(int i, std::int64_t index) const {
    return visit([&](const auto& view) -> AnyTensorView { return view.select(i, index); });
  }
  [[nodiscard]] AnyTensorView slice(int i, std::int64_t begin, std::int64_t end) const {
    return visit([&](const auto& view) -> AnyTensorView { return view.slice(i, begin, end); });
  }
  AnyTensorView unsqueeze(int i) const { return {view_.unsqueeze(i), type_}; }
  AnyTensorView split_heads(std::int64_t num_heads) const {
    return {view_.split_heads(num_heads), type_};
  }

 private:
  friend class AnyTensorView<true>;

  AnyTensorView(const TensorView<Stored<float>>& view, ElementType type)
      : view_(view), type_(type) {}

  // Holds the address, shape and strides. The elements have the type `type_`, which is not always
  // float.
  TensorView<Stored<float>> view_;
  ElementType type_ = ElementType::kFloat32;
};

/// The type of output arguments that may have any element type.
using AnyTensor = AnyTensorView<false>;
/// The type of input arguments that may have any element type. An AnyTensor converts to a
/// ConstAnyTensor.
using ConstAnyTensor = AnyTensorView<true>;

}  // namespace attn
