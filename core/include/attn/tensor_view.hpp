#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <type_traits>
#include <vector>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include "attn/export.hpp"

namespace attn {

namespace detail {
/// Throws kShapeMismatch unless a tensor of this shape has `got` elements.
ATTN_API void require_elements(std::size_t got, std::span<const std::int64_t> shape);

// Programs compiled without exceptions may include this header, so it must not contain `throw`. The
// library defines these functions, which throw.
[[noreturn]] ATTN_API void fail_rank(std::size_t rank, int most);
[[noreturn]] ATTN_API void fail_size(std::int64_t size, std::size_t dimension);
[[noreturn]] ATTN_API void fail_strides(std::size_t strides, std::size_t sizes);
[[noreturn]] ATTN_API void fail_unsqueeze();
[[noreturn]] ATTN_API void fail_split_heads(std::span<const std::int64_t> shape,
                                            std::int64_t num_heads);
}  // namespace detail

/// A non-owning view of elements in memory: a pointer, a shape and one stride per dimension, in
/// elements. Strides may be zero (a broadcast dimension) or negative. attn never copies a tensor to
/// change its layout: (B, H, N, D) and (B, N, H·D) are both read in place (see split_heads()).
///
/// A default-constructed view means "none": rank 0 and no data. Optional tensor arguments default
/// to such a view.
///
/// Constructors check their arguments. Other functions do not check dimensions, indices and ranges:
/// as in std::span, the behaviour is undefined if they are outside the view. The size of the memory
/// behind a pointer cannot be checked; the size of a std::span is checked.
template <class T>
class TensorView {
 public:
  /// The largest rank of a view.
  static constexpr int kMaxRank = 6;

  TensorView() = default;

  /// A row-major view of `shape` at `data`. Throws kInvalidArgument for a negative size and
  /// kShapeMismatch for a rank above kMaxRank.
  TensorView(T* data, std::span<const std::int64_t> shape) : data_(data) {
    set_shape(shape);
    std::int64_t stride = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      strides_[i] = stride;
      // The stride saturates instead of overflowing; functions check sizes before they use strides.
      if (__builtin_mul_overflow(stride, shape_[i], &stride)) stride = INT64_MAX;
    }
  }

  TensorView(T* data, std::initializer_list<std::int64_t> shape)
      : TensorView(data, std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  /// A row-major view of all of `elements`, e.g. of a std::vector. Throws the same errors as the
  /// constructor above, and kShapeMismatch unless a tensor of this shape has exactly as many
  /// elements.
  TensorView(std::span<T> elements, std::span<const std::int64_t> shape)
      : TensorView(elements.data(), shape) {
    detail::require_elements(elements.size(), shape);
  }

  TensorView(std::span<T> elements, std::initializer_list<std::int64_t> shape)
      : TensorView(elements, std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  /// Rejects std::vector<bool>, whose elements have no addresses.
  template <std::same_as<std::vector<bool>> Bits>
  TensorView(const Bits&, std::span<const std::int64_t>) {
    static_assert(!std::same_as<Bits, std::vector<bool>>,
                  "a view cannot address the bits of a std::vector<bool>; "
                  "use std::vector<std::uint8_t>");
  }
  template <std::same_as<std::vector<bool>> Bits>
  TensorView(const Bits& bits, std::initializer_list<std::int64_t>)
      : TensorView(bits, std::span<const std::int64_t>()) {}

  /// A view of `shape` at `data` with one stride per dimension, in elements. Throws the same errors
  /// as the first constructor, and kShapeMismatch unless there are as many strides as sizes.
  TensorView(T* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : data_(data) {
    set_shape(shape);
    if (strides.size() != shape.size()) detail::fail_strides(strides.size(), shape.size());
    for (std::size_t i = 0; i < strides.size(); ++i) strides_[i] = strides[i];
  }

  /// A view of mutable elements converts to a view of constant elements.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  TensorView(const TensorView<U>& other)
      : TensorView(other.data(), other.shape(), other.strides()) {}

#ifdef __cpp_lib_mdspan
  /// A view of the elements of a std::mdspan. Available if the standard library has std::mdspan.
  /// The layout must be strided, as all standard layouts are.
  template <class U, class Extents, class Layout>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && Extents::rank() <= std::size_t{kMaxRank} &&
             Layout::template mapping<Extents>::is_always_strided())
  TensorView(const std::mdspan<U, Extents, Layout>& view)
      : data_(view.data_handle()), rank_(static_cast<int>(Extents::rank())) {
    for (std::size_t i = 0; i < Extents::rank(); ++i) {
      shape_[i] = static_cast<std::int64_t>(view.extent(i));
      strides_[i] = static_cast<std::int64_t>(view.stride(i));
    }
  }
#endif

  T* data() const noexcept { return data_; }
  /// The number of dimensions.
  int rank() const noexcept { return rank_; }
  /// True if this view means "none". A view of shape (0, 4) is not "none".
  [[nodiscard]] bool is_none() const noexcept { return data_ == nullptr && rank_ == 0; }
  /// The shape and the strides. These spans are valid for as long as the view exists.
  std::span<const std::int64_t> shape() const noexcept {
    return {shape_, static_cast<std::size_t>(rank_)};
  }
  std::span<const std::int64_t> strides() const noexcept {
    return {strides_, static_cast<std::size_t>(rank_)};
  }

  /// The size and the stride of dimension `i`; a negative `i` counts from the last dimension.
  std::int64_t size(int i) const noexcept { return shape_[i < 0 ? i + rank_ : i]; }
  std::int64_t stride(int i) const noexcept { return strides_[i < 0 ? i + rank_ : i]; }

  /// The address of the element at the given indices, which are not checked. There need not be an
  /// element at that address.
  template <class... Index>
  T* pointer(Index... index) const noexcept {
    std::int64_t offset = 0;
    int i = 0;
    ((offset += static_cast<std::int64_t>(index) * strides_[i++]), ...);
    return data_ + offset;
  }

  /// The element at the given indices, which are not checked.
  template <class... Index>
  T& operator()(Index... index) const noexcept {
    return *pointer(index...);
  }

  /// The view with dimension `i` fixed at `index`, which lowers the rank by 1.
  [[nodiscard]] TensorView select(int i, std::int64_t index) const noexcept {
    if (i < 0) i += rank_;
    TensorView result;
    result.data_ = data_ + index * strides_[i];
    for (int j = 0; j < rank_; ++j) {
      if (j == i) continue;
      result.shape_[result.rank_] = shape_[j];
      result.strides_[result.rank_++] = strides_[j];
    }
    return result;
  }

  /// The view narrowed to the indices [begin, end) of dimension `i`.
  [[nodiscard]] TensorView slice(int i, std::int64_t begin, std::int64_t end) const noexcept {
    if (i < 0) i += rank_;
    TensorView result = *this;
    result.data_ += begin * strides_[i];
    result.shape_[i] = end - begin;
    return result;
  }

  /// The view with a dimension of size 1 inserted before dimension `i`; −1 appends the dimension.
  /// Throws kInvalidArgument if the view already has the largest rank.
  TensorView unsqueeze(int i) const {
    if (i < 0) i += rank_ + 1;
    if (rank_ == kMaxRank) detail::fail_unsqueeze();
    TensorView result = *this;
    for (int j = rank_; j > i; --j) {
      result.shape_[j] = shape_[j - 1];
      result.strides_[j] = strides_[j - 1];
    }
    result.shape_[i] = 1;
    result.strides_[i] = 0;
    ++result.rank_;
    return result;
  }

  /// Views (B, N, H·D) as (B, H, N, D), without a copy. Throws kShapeMismatch unless the rank is 3,
  /// num_heads ≥ 1 and the last size is a multiple of num_heads.
  TensorView split_heads(std::int64_t num_heads) const {
    if (rank_ != 3 || num_heads < 1 || shape_[2] % num_heads != 0) {
      detail::fail_split_heads(shape(), num_heads);
    }
    const std::int64_t head_dim = shape_[2] / num_heads;
    const std::array<std::int64_t, 4> shape{shape_[0], num_heads, shape_[1], head_dim};
    const std::array<std::int64_t, 4> strides{strides_[0], head_dim * strides_[2], strides_[1],
                                              strides_[2]};
    return TensorView(data_, shape, strides);
  }

  /// True if the elements are stored row-major without gaps.
  bool is_contiguous() const noexcept {
    std::int64_t expected = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      if (shape_[i] != 1 && strides_[i] != expected) return false;
      // A tensor with more elements than an int64 can count does not fit into memory.
      if (i > 0 && __builtin_mul_overflow(expected, shape_[i], &expected)) return false;
    }
    return true;
  }

 private:
  void set_shape(std::span<const std::int64_t> shape) {
    if (shape.size() > kMaxRank) detail::fail_rank(shape.size(), kMaxRank);
    rank_ = static_cast<int>(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) detail::fail_size(shape[i], i);
      shape_[i] = shape[i];
    }
  }

  T* data_ = nullptr;
  int rank_ = 0;
  // These are plain arrays because indexing them with signed integers causes no warnings in the
  // user's build.
  std::int64_t shape_[kMaxRank] = {};
  std::int64_t strides_[kMaxRank] = {};
};

/// The type of outputs. As with std::span, a const Tensor always views the same elements, but you
/// can still write to them. No two elements of an output may share memory, as they would with a
/// stride of 0 and a size above 1; this is not checked.
using Tensor = TensorView<float>;
/// The type of inputs. A Tensor converts to a ConstTensor.
using ConstTensor = TensorView<const float>;

/// A mask. Booleans are one byte each: zero is false, anything else is true.
using ConstMask = TensorView<const std::uint8_t>;
/// Lengths of sequences, in tokens. See LengthsView for other integer types.
using ConstLengths = TensorView<const std::int32_t>;

/// Prints the elements row by row, with four digits after the decimal point as in PyTorch:
///
///   [[ 0.5000, -1.2500],
///    [ 2.0000,  3.0000]]
///
/// Numbers of very different or unusual magnitudes are printed with exponents. If all numbers are
/// whole, they are printed without digits after the point. If there are more than 1000 elements,
/// only the first and last three of each dimension are printed. A view that means "none" is printed
/// as "none", and a tensor without elements is printed with its shape.
ATTN_API std::ostream& operator<<(std::ostream& stream, const ConstTensor& tensor);
ATTN_API std::ostream& operator<<(std::ostream& stream, const TensorView<const double>& tensor);
ATTN_API std::ostream& operator<<(std::ostream& stream,
                                  const TensorView<const std::int32_t>& tensor);
ATTN_API std::ostream& operator<<(std::ostream& stream,
                                  const TensorView<const std::int64_t>& tensor);
ATTN_API std::ostream& operator<<(std::ostream& stream,
                                  const TensorView<const std::uint8_t>& tensor);

}  // namespace attn
