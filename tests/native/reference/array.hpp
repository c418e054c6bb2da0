#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

/// Plain double-precision implementations to test against. They share no code with the core and
/// prefer being obviously right to being fast.
namespace reference {

/// A row-major array of doubles. A default-made one stands for an argument left out.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(std::vector<std::int64_t> shape_, double fill = 0) : shape(std::move(shape_)) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    values.assign(static_cast<std::size_t>(count), fill);
  }
  template <class T>
  Array(std::vector<std::int64_t> shape_, const std::vector<T>& values_)
      : shape(std::move(shape_)), values(values_.begin(), values_.end()) {}

  bool given() const { return !shape.empty() || !values.empty(); }
  std::int64_t size(std::size_t i) const { return shape[i]; }

  double& at(std::initializer_list<std::int64_t> indices) { return values[offset(indices)]; }
  double at(std::initializer_list<std::int64_t> indices) const { return values[offset(indices)]; }

  /// The element at indices of a larger shape that this one broadcasts to, from the right.
  double broadcast_at(std::initializer_list<std::int64_t> indices) const {
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

/// Exact values, and how far float32 arithmetic may be from each.
struct Bounded {
  Array exact;
  Array error;
};

}  // namespace reference
