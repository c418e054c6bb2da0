#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>

#include "attn/tensor_view.hpp"

namespace attn {

namespace detail {
template <class T>
concept Id = std::same_as<std::remove_const_t<T>, std::int64_t> ||
             std::same_as<std::remove_const_t<T>, std::int32_t>;
}  // namespace detail

/// A non-owning view of token ids of type int64 or int32. Wherever a function takes an IdView, you
/// can pass a TensorView of either type, a pointer and a shape, or a contiguous container such as
/// std::vector, std::array or std::span, which gives shape (N).
class IdView {
 public:
  /// A view that means "none".
  IdView() = default;

  template <detail::Id T>
  IdView(const TensorView<T>& ids) noexcept : is_wide_(sizeof(T) == sizeof(std::int64_t)) {
    if constexpr (sizeof(T) == sizeof(std::int64_t)) {
      wide_ = ids;
    } else {
      narrow_ = ids;
    }
  }

  /// Throws the same errors as TensorView.
  template <detail::Id T>
  IdView(const T* ids, std::initializer_list<std::int64_t> shape)
      : IdView(TensorView<const T>(ids, shape)) {}

  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && detail::Id<std::ranges::range_value_t<Range>>)
  IdView(const Range& ids)
      : IdView(std::ranges::data(ids), {static_cast<std::int64_t>(std::ranges::size(ids))}) {}

  int rank() const noexcept { return is_wide_ ? wide_.rank() : narrow_.rank(); }
  std::span<const std::int64_t> shape() const noexcept {
    return is_wide_ ? wide_.shape() : narrow_.shape();
  }
  std::int64_t size(int i) const noexcept { return is_wide_ ? wide_.size(i) : narrow_.size(i); }

  /// True if the ids are int64.
  bool is_wide() const noexcept { return is_wide_; }
  const void* data() const noexcept {
    return is_wide_ ? static_cast<const void*>(wide_.data()) : narrow_.data();
  }

  /// The id at the given indices, which are not checked.
  template <class... Index>
  std::int64_t operator()(Index... index) const noexcept {
    return is_wide_ ? wide_(index...) : narrow_(index...);
  }

  /// Like TensorView::slice().
  [[nodiscard]] IdView slice(int i, std::int64_t begin, std::int64_t end) const noexcept {
    return is_wide_ ? IdView(wide_.slice(i, begin, end)) : IdView(narrow_.slice(i, begin, end));
  }

 private:
  // At most one of the two views is set: wide_ if is_wide_ is true, narrow_ otherwise.
  TensorView<const std::int64_t> wide_;
  TensorView<const std::int32_t> narrow_;
  bool is_wide_ = true;
};

}  // namespace attn
