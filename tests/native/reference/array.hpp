#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

/// Plain double-precision implementations to test against. They share no code with the core and
/// favour obvious correctness over speed. Functions with gradients are templates over their number
/// type: doubles, or the scalars of a tape (scalar.hpp).
namespace reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A row-major array. A default-constructed array stands for an omitted argument.
template <class T>
struct ArrayOf {
  std::vector<std::int64_t> shape;
  std::vector<T> values;

  ArrayOf() = default;
  explicit ArrayOf(std::vector<std::int64_t> shape_, T fill = 0) : shape(std::move(shape_)) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    values.assign(static_cast<std::size_t>(count), fill);
  }
  template <class U>
  ArrayOf(std::vector<std::int64_t> shape_, const std::vector<U>& values_)
      : shape(std::move(shape_)), values(values_.begin(), values_.end()) {}
  /// Converts constants to an array of numbers with gradients.
  template <class U>
    requires(!std::is_same_v<T, U> && std::is_convertible_v<U, T>)
  ArrayOf(const ArrayOf<U>& other) : ArrayOf(other.shape, other.values) {}

  bool operator==(const ArrayOf&) const = default;

  bool given() const { return !shape.empty() || !values.empty(); }
  std::int64_t size(std::size_t i) const { return shape[i]; }

  T& at(std::initializer_list<std::int64_t> indices) { return values[offset(indices)]; }
  T at(std::initializer_list<std::int64_t> indices) const { return values[offset(indices)]; }

  /// Returns the element at `indices` after broadcasting the array to a larger shape, aligned from
  /// the right.
  T broadcast_at(std::initializer_list<std::int64_t> indices) const {
    std::size_t flat = 0;
    const std::size_t skip = indices.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int64_t index = shape[i] == 1 ? 0 : indices.begin()[skip + i];
      flat = flat * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(index);
    }
    return values[flat];
  }

 private:
  std::size_t offset(std::initializer_list<std::int64_t> indices) const {
    std::size_t flat = 0;
    std::size_t i = 0;
    for (const std::int64_t index : indices) {
      flat = flat * static_cast<std::size_t>(shape[i++]) + static_cast<std::size_t>(index);
    }
    return flat;
  }
};

using Array = ArrayOf<double>;

/// A type for parameters from which T is not deduced, so that constants and braced lists convert to
/// it.
template <class T>
using Given = std::type_identity_t<T>;

/// Dropout: multiplies each element of x by its factor in `kept`, which is 0 for dropped elements.
/// Keeps everything if `kept` is omitted.
template <class T>
void drop(ArrayOf<T>& x, const Array& kept) {
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    x.values.at(i) = kept.values[i] == 0 ? T(0) : x.values[i] * T(kept.values[i]);
  }
}

constexpr double kUnit = 1.0 / (1 << 24);  ///< bound on the relative rounding error of float32

/// Exact values, and for each of them a bound on the error of float32 arithmetic.
template <class T>
struct BoundedOf {
  ArrayOf<T> exact;
  Array error;
};
using Bounded = BoundedOf<double>;

}  // namespace reference
