#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "allocations.hpp"
#include "attn/any_tensor.hpp"
#include "attn/tensor_view.hpp"

namespace attn::wasm {

/// A tensor in the module's memory, as described by JavaScript. The class is named `Tensor` there.
/// JavaScript reuses a few objects for all calls. Sizes and strides arrive as doubles, because
/// JavaScript would pass 64-bit integers as BigInts.
///
/// Passing four tensors takes 4.0 µs in Chromium on a busy machine. Passed as value objects with
/// arrays for shape and strides, they would take 6.0 µs and create garbage. With -sEMBIND_AOT the
/// times are 1.7 and 5.7 µs.
class TensorArgument {
 public:
  /// Starts a tensor of rank 0; call addDimension() for each dimension. `type` matters only in
  /// calls that accept several element types.
  void reset(std::uintptr_t address, ElementType type) noexcept {
    address_ = address;
    type_ = type;
    rank_ = 0;
  }

  void add_dimension(double size, double stride) {
    if (rank_ == ConstTensor::kMaxRank) detail::fail_rank(rank_ + 1, ConstTensor::kMaxRank);
    shape_[rank_] = static_cast<std::int64_t>(size);
    strides_[rank_++] = static_cast<std::int64_t>(stride);
  }

  /// Returns a view with elements of type T.
  template <class T>
  TensorView<T> as() const {
    check_address(address_, sizeof(T), std::span(shape_, rank_), std::span(strides_, rank_));
    return TensorView<T>(reinterpret_cast<T*>(address_), std::span(shape_, rank_),
                         std::span(strides_, rank_));
  }

  ConstTensor floats() const { return as<const float>(); }
  Tensor result() const { return as<float>(); }

  /// Returns the elements of a tensor of bytes, which must have rank 1.
  std::span<const std::byte> bytes() const {
    return {as<const std::byte>().data(), static_cast<std::size_t>(shape_[0])};
  }
  /// Like bytes(), but returns text.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
  }

  ConstAnyTensor elements() const {
    switch (type_) {
      case ElementType::kFloat16:
        return as<const Float16>();
      case ElementType::kBFloat16:
        return as<const BFloat16>();
      default:
        return floats();
    }
  }
  AnyTensor result_of_type() const {
    switch (type_) {
      case ElementType::kFloat16:
        return as<Float16>();
      case ElementType::kBFloat16:
        return as<BFloat16>();
      default:
        return result();
    }
  }

 private:
  std::uintptr_t address_ = 0;
  ElementType type_ = ElementType::kFloat32;
  std::size_t rank_ = 0;
  std::int64_t shape_[ConstTensor::kMaxRank] = {};
  std::int64_t strides_[ConstTensor::kMaxRank] = {};
};

template <auto Option, class T>
struct TensorOption;

template <class Options, class V, V Options::* Option, class T>
struct TensorOption<Option, T> {
  static void set(Options& options, const TensorArgument& tensor) {
    options.*Option = tensor.as<T>();
  }
};

/// Sets an option to a tensor with elements of type T:
/// `.function("setMask", set_tensor<&AttentionOptions::mask, const std::uint8_t>)`.
template <auto Option, class T>
constexpr auto set_tensor = &TensorOption<Option, T>::set;

}  // namespace attn::wasm
