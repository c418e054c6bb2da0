#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>

#include "attn/tensor_view.hpp"

namespace attn {

namespace detail {
/// Integers of 4 or 8 bytes, including std::size_t, a common type for lengths.
template <class T>
concept Length = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                 !std::same_as<std::remove_const_t<T>, wchar_t> &&
                 !std::same_as<std::remove_const_t<T>, char32_t>;
}  // namespace detail

/// A non-owning view of the lengths of sequences, in tokens. Wherever an option takes a
/// LengthsView, you can pass a TensorView, a pointer and a shape, or a contiguous container such as
/// std::vector, std::array or std::span. The integers may have 4 or 8 bytes. A container passed
/// without a shape gets shape (B), one length for each batch entry:
///
///   std::vector<int> lengths{3, 5};
///   scaled_dot_product_attention(q, k, v, output, {.valid_lens = lengths});
///
/// The lengths must outlive the call.
class LengthsView {
 public:
  /// A view that means "none".
  LengthsView() = default;

  template <detail::Length T>
  LengthsView(const TensorView<T>& lengths) noexcept
      : data_(lengths.data()), rank_(lengths.rank()), read_(&read<std::remove_const_t<T>>) {
    for (int i = 0; i < rank_; ++i) {
      shape_[i] = lengths.size(i);
      strides_[i] = lengths.stride(i);
    }
  }

  /// This and the following constructors throw the same errors as TensorView.
  template <detail::Length T>
  LengthsView(const T* lengths, std::span<const std::int64_t> shape)
      : LengthsView(TensorView<const T>(lengths, shape)) {}
  template <detail::Length T>
  LengthsView(const T* lengths, std::initializer_list<std::int64_t> shape)
      : LengthsView(TensorView<const T>(lengths, shape)) {}

  LengthsView(std::nullptr_t, std::initializer_list<std::int64_t> shape)
      : LengthsView(ConstLengths(nullptr, shape)) {}

  /// A view of all elements of a container, row-major.
  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && detail::Length<std::ranges::range_value_t<Range>>)
  LengthsView(const Range& lengths, std::initializer_list<std::int64_t> shape)
      : LengthsView(TensorView<const std::ranges::range_value_t<Range>>(
            std::span<const std::ranges::range_value_t<Range>>(lengths), shape)) {}

  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && detail::Length<std::ranges::range_value_t<Range>>)
  LengthsView(const Range& lengths)
      : LengthsView(std::ranges::data(lengths),
                    {static_cast<std::int64_t>(std::ranges::size(lengths))}) {}

  [[nodiscard]] bool is_none() const noexcept { return data_ == nullptr && rank_ == 0; }
  const void* data() const noexcept { return data_; }
  int rank() const noexcept { return rank_; }
  std::span<const std::int64_t> shape() const noexcept {
    return {shape_, static_cast<std::size_t>(rank_)};
  }
  std::int64_t size(int i) const noexcept { return shape_[i]; }

  /// The length at the given indices, which are not checked. A length above 2^63 − 1 is returned as
  /// a negative number.
  template <class... Index>
  std::int64_t operator()(Index... index) const noexcept {
    std::int64_t offset = 0;
    int i = 0;
    ((offset += static_cast<std::int64_t>(index) * strides_[i++]), ...);
    return read_(data_, offset);
  }

 private:
  static constexpr int kMaxRank = ConstTensor::kMaxRank;

  template <class T>
  static std::int64_t read(const void* data, std::int64_t offset) noexcept {
    return static_cast<std::int64_t>(static_cast<const T*>(data)[offset]);
  }

  const void* data_ = nullptr;
  int rank_ = 0;
  std::int64_t shape_[kMaxRank] = {};
  std::int64_t strides_[kMaxRank] = {};
  std::int64_t (*read_)(const void* data, std::int64_t offset) noexcept = nullptr;
};

}  // namespace attn
