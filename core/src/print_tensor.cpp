#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>

#include "attn/tensor_view.hpp"

namespace attn {
namespace {

/// The number of elements above which a tensor is abridged, and the number of elements that are
/// then written at each end of a dimension. Both are the same as in NumPy and PyTorch.
constexpr std::int64_t kMostPrinted = 1000;
constexpr std::int64_t kPrintedEnds = 3;

/// Writes a tensor. Formats the shown elements once in advance to find the common column width.
template <class T>
class TensorPrinter {
 public:
  TensorPrinter(std::ostream& stream, const TensorView<T>& tensor)
      : stream_(stream), tensor_(tensor) {
    double elements = 1;
    for (const std::int64_t size : tensor.shape()) elements *= static_cast<double>(size);
    is_abridged_ = elements > static_cast<double>(kMostPrinted);
    for_shown(0, tensor.data(), [&](const T& value) { choose_format(value); });
    for_shown(0, tensor.data(),
              [&](const T& value) { width_ = std::max(width_, to_text(value).size()); });
  }

  void print() { print(0, tensor_.data()); }

 private:
  /// Calls `visit` once with each shown index of a dimension, and with −1 in place of the indices
  /// that are left out.
  template <class Visit>
  void for_shown_indices(int dimension, Visit visit) const {
    const std::int64_t size = tensor_.size(dimension);
    const bool leaves_out = is_abridged_ && size > 2 * kPrintedEnds;
    for (std::int64_t i = 0; i < size; ++i) {
      if (leaves_out && i == kPrintedEnds) {
        visit(std::int64_t{-1});
        i = size - kPrintedEnds;
      }
      visit(i);
    }
  }

  template <class Visit>
  void for_shown(int dimension, const T* data, Visit visit) const {
    if (dimension == tensor_.rank()) return visit(*data);
    for_shown_indices(dimension, [&](std::int64_t i) {
      if (i >= 0) for_shown(dimension + 1, data + i * tensor_.stride(dimension), visit);
    });
  }

  void choose_format(const T& value) {
    if constexpr (std::floating_point<T>) {
      const double magnitude = std::abs(static_cast<double>(value));
      if (!std::isfinite(magnitude) || magnitude == 0) return;
      largest_ = std::max(largest_, magnitude);
      smallest_ = std::min(smallest_, magnitude);
      are_whole_ = are_whole_ && magnitude == std::floor(magnitude);
    }
  }

  std::string to_text(const T& value) const {
    if constexpr (std::floating_point<T>) {
      const auto number = static_cast<double>(value);
      // PyTorch's limits.
      const bool is_wide = largest_ > 1e8 || largest_ / smallest_ > 1000 || smallest_ < 1e-4;
      const char* format = "%.4f";
      if (std::isnan(number)) return "nan";
      if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
      if (are_whole_) {
        format = largest_ > 1e8 ? "%.4e" : "%.0f.";
      } else if (largest_ > 0 && is_wide) {
        format = "%.4e";
      }
      char text[64];
      std::snprintf(text, sizeof text, format, number);
      return text;
    } else {
      return std::to_string(value);
    }
  }

  void print(int dimension, const T* data) {
    if (dimension == tensor_.rank()) {
      const std::string text = to_text(*data);
      stream_ << std::string(width_ - text.size(), ' ') << text;
      return;
    }
    stream_ << '[';
    bool is_first = true;
    for_shown_indices(dimension, [&](std::int64_t i) {
      if (!is_first) print_separator(dimension);
      is_first = false;
      if (i < 0) {
        stream_ << "...";
      } else {
        print(dimension + 1, data + i * tensor_.stride(dimension));
      }
    });
    stream_ << ']';
  }

  /// Separates the elements of a row by commas, and rows by a comma and a line break. Matrices are
  /// separated by an additional empty line, and each further dimension adds one more.
  void print_separator(int dimension) {
    const int inner = tensor_.rank() - 1 - dimension;
    if (inner == 0) {
      stream_ << ", ";
      return;
    }
    stream_ << ',' << std::string(static_cast<std::size_t>(inner), '\n')
            << std::string(static_cast<std::size_t>(dimension) + 1, ' ');
  }

  std::ostream& stream_;
  TensorView<T> tensor_;
  bool is_abridged_ = false;
  bool are_whole_ = true;
  double largest_ = 0;
  double smallest_ = HUGE_VAL;
  std::size_t width_ = 0;
};

template <class T>
std::ostream& print_tensor(std::ostream& stream, const TensorView<T>& tensor) {
  if (tensor.is_none()) return stream << "none";
  if (std::ranges::count(tensor.shape(), 0) != 0) {
    stream << "[] of shape (";
    for (int i = 0; i < tensor.rank(); ++i) stream << (i > 0 ? ", " : "") << tensor.size(i);
    return stream << ')';
  }
  TensorPrinter<T>(stream, tensor).print();
  return stream;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const ConstTensor& tensor) {
  return print_tensor(stream, tensor);
}
std::ostream& operator<<(std::ostream& stream, const TensorView<const double>& tensor) {
  return print_tensor(stream, tensor);
}
std::ostream& operator<<(std::ostream& stream, const ConstLengths& tensor) {
  return print_tensor(stream, tensor);
}
std::ostream& operator<<(std::ostream& stream, const TensorView<const std::int64_t>& tensor) {
  return print_tensor(stream, tensor);
}
std::ostream& operator<<(std::ostream& stream, const ConstMask& tensor) {
  return print_tensor(stream, tensor);
}

}  // namespace attn
