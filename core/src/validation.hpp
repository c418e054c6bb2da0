#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/error.hpp"
#include "attn/id_view.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

/// How public functions report errors: the name of the argument, the value it got, and the value it
/// needs.
namespace attn::validation {

/// "(2, 4, 100)"
std::string to_string(std::span<const std::int64_t> shape);

/// The subject of an error. A literal is the name of an argument, as spelt in C++: "valid_lens". A
/// string, e.g. the name of a parameter, is used unchanged.
class Name {
 public:
  Name(const char* argument) noexcept : name_(argument), is_argument_(true) {}
  Name(std::string_view name) noexcept : name_(name) {}
  Name(const std::string& name) noexcept : name_(name) {}

  void append_to(std::string& message) const;

 private:
  std::string_view name_;
  bool is_argument_ = false;
};

/// Appends the name of an argument to a message. Names are spelt as in C++ unless a language
/// binding sets another function. A binding sets the function before its first call.
using AppendArgument = void (*)(std::string& message, std::string_view name);
extern AppendArgument append_argument;

/// A part of a message: text, a number, a shape, or the name of another argument, Name("key"). A
/// Part refers to its value without copying it, and messages are built out of line, so that a check
/// costs its caller few instructions.
class Part {
 public:
  Part(const char* text) noexcept : kind_(Kind::kLiteral), data_(text) {}
  Part(const Name& name) noexcept : kind_(Kind::kName), data_(&name) {}
  Part(std::string_view text) noexcept : Part(Kind::kText, text.data(), text.size()) {}
  Part(const std::string& text) noexcept : Part(std::string_view(text)) {}
  template <std::integral T>
  Part(T number) noexcept
      : kind_(std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned),
        number_(static_cast<std::int64_t>(number)) {}
  template <std::floating_point T>
  Part(T number) noexcept : kind_(Kind::kReal), real_(static_cast<double>(number)) {}
  Part(std::span<const std::int64_t> shape) noexcept
      : Part(Kind::kShape, shape.data(), shape.size()) {}
  Part(const std::vector<std::int64_t>& shape) noexcept : Part(std::span(shape)) {}
  template <std::size_t N>
  Part(const std::array<std::int64_t, N>& shape) noexcept : Part(std::span(shape)) {}

  void append_to(std::string& message) const;

 private:
  enum class Kind { kLiteral, kName, kText, kSigned, kUnsigned, kReal, kShape };
  Part(Kind kind, const void* data, std::size_t size) noexcept
      : kind_(kind), data_(data), number_(static_cast<std::int64_t>(size)) {}

  Kind kind_;
  const void* data_ = nullptr;
  union {
    std::int64_t number_ = 0;
    double real_;
  };
};
using Parts = std::initializer_list<Part>;

void append(std::string& text, Parts parts);
std::string join(Parts parts);

/// Lists names for a message: "a, b and 3 more". Stacks of layers have hundreds of names, so only
/// the first few are listed.
std::string list_names(std::span<const std::string> names);

// To pass a Name, a caller must first build it in memory. The overloads for literals avoid this, so
// each call of a check takes only a few instructions. Without them, the WebAssembly code of layers
// and of attention would be 3 to 10 % larger.

/// Throws `name: got …, needs …`.
[[noreturn]] void fail(ErrorCode code, const char* argument, Parts got, Parts needs);
[[noreturn]] void fail(ErrorCode code, Name name, Parts got, Parts needs);

/// Throws kInvalidArgument: `name: got 3, needs …`.
[[noreturn]] void fail_value(const char* argument, Part got, Parts needs);
[[noreturn]] void fail_value(Name name, Part got, Parts needs);

/// Throws kShapeMismatch: `name: got shape (2, 3), needs …`.
[[noreturn]] void fail_shape(const char* argument, std::span<const std::int64_t> got, Parts needs);
[[noreturn]] void fail_shape(Name name, std::span<const std::int64_t> got, Parts needs);

/// Throws kShapeMismatch for a shape other than (N, width) or (B, N, width), where `width` is an
/// argument.
[[noreturn]] void fail_rows(const char* argument, std::span<const std::int64_t> got,
                            const char* width);

/// Requires value ≥ least.
void require_at_least(const char* argument, std::int64_t value, std::int64_t least);
void require_at_least(Name name, std::int64_t value, std::int64_t least);

/// Requires 0 ≤ value ≤ 1.
void require_probability(const char* argument, double value);

/// Requires a finite value ≥ 0.
void require_finite_at_least_zero(const char* argument, double value);

/// The product of sizes. Throws kSizeOverflow if it does not fit into 64 bits.
std::int64_t product(const char* argument, std::span<const std::int64_t> sizes);
std::int64_t product(Name name, std::span<const std::int64_t> sizes);
inline std::int64_t product(const char* argument, std::initializer_list<std::int64_t> sizes) {
  return product(argument, std::span<const std::int64_t>(sizes.begin(), sizes.size()));
}

/// Returns `count`, the number of elements to allocate, as a std::size_t. Throws kSizeOverflow if
/// that many elements of `bytes` bytes each exceed the address space. On 32-bit machines, the
/// address space is far smaller than the largest count.
std::size_t allocation(const char* argument, std::int64_t count, std::size_t bytes);
std::size_t allocation(Name name, std::int64_t count, std::size_t bytes);

/// Requires a shape; a size of −1 in `needed` accepts any size.
void require_shape(const char* argument, std::span<const std::int64_t> shape,
                   std::initializer_list<std::int64_t> needed);
template <class T>
void require_shape(const char* argument, const TensorView<T>& view,
                   std::initializer_list<std::int64_t> needed) {
  require_shape(argument, view.shape(), needed);
}

/// Requires `shape` to equal the shape of another tensor.
void require_same_shape(const char* argument, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> other);
void require_same_shape(Name name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> other);
template <class T, class U>
void require_same_shape(const char* argument, const TensorView<T>& view,
                        const TensorView<U>& other) {
  require_same_shape(argument, view.shape(), other.shape());
}
template <class T, class U>
void require_same_shape(Name name, const TensorView<T>& view, const TensorView<U>& other) {
  require_same_shape(name, view.shape(), other.shape());
}

/// Requires that a view's elements can be counted and addressed, and that the view has data unless
/// it has no elements.
void require_data(const char* argument, std::span<const std::int64_t> shape, const void* data,
                  std::size_t element_bytes);
void require_data(Name name, std::span<const std::int64_t> shape, const void* data,
                  std::size_t element_bytes);
template <class T>
void require_data(const char* argument, const TensorView<T>& view) {
  require_data(argument, view.shape(), view.data(), sizeof(T));
}
template <class T>
void require_data(Name name, const TensorView<T>& view) {
  require_data(name, view.shape(), view.data(), sizeof(T));
}
template <bool Constant>
void require_data(const char* argument, const AnyTensorView<Constant>& view) {
  require_data(argument, view.shape(), view.data(), static_cast<std::size_t>(view.element_bytes()));
}
template <bool Constant>
void require_data(Name name, const AnyTensorView<Constant>& view) {
  require_data(name, view.shape(), view.data(), static_cast<std::size_t>(view.element_bytes()));
}
inline void require_data(const char* argument, const IdView& ids) {
  require_data(argument, ids.shape(), ids.data(),
               ids.is_wide() ? sizeof(std::int64_t) : sizeof(std::int32_t));
}

/// Requires lengths of shape (B), one per batch entry. Unless `rows` is −1, also accepts shape (B,
/// rows), one per row. The view may be empty. Lengths must be from 0 to `most`. Error messages call
/// this limit the number of `what`.
void require_lengths(const char* argument, const LengthsView& lengths, std::int64_t batch,
                     std::int64_t rows, std::int64_t most, const char* what);

/// The strides of a view of `shape` that is broadcast to the shape `wanted`.
std::array<std::int64_t, ConstTensor::kMaxRank> broadcast_strides(
    const char* argument, std::span<const std::int64_t> shape,
    std::span<const std::int64_t> strides, std::span<const std::int64_t> wanted);

/// Broadcasts `view` to a shape as NumPy does, from the right: adds leading dimensions, and repeats
/// dimensions of size 1 with stride 0. Throws when the shapes do not fit.
template <class T>
TensorView<T> broadcast(const char* argument, const TensorView<T>& view,
                        std::span<const std::int64_t> wanted) {
  const auto strides = broadcast_strides(argument, view.shape(), view.strides(), wanted);
  return TensorView<T>(view.data(), wanted, std::span(strides).first(wanted.size()));
}
template <class T>
TensorView<T> broadcast(const char* argument, const TensorView<T>& view,
                        std::initializer_list<std::int64_t> shape) {
  return broadcast(argument, view, std::span<const std::int64_t>(shape.begin(), shape.size()));
}

}  // namespace attn::validation
