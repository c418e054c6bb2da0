#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/any_tensor.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/tensor_view.hpp"
#include "kernels/kernel_table.hpp"

namespace attn {

/// Keys or values as they are stored: a tensor of any type, or int8 rows with their scales.
class StoredTensor {
 public:
  StoredTensor(const ConstAnyTensor& tensor)
      : StoredTensor(tensor.data(), tensor.type(), tensor.element_bytes(), tensor.shape(),
                     tensor.strides()) {}
  StoredTensor(const ConstTensor& tensor) : StoredTensor(ConstAnyTensor(tensor)) {}
  /// `scales` has the shape of `numbers` without the last dimension.
  StoredTensor(const TensorView<const std::int8_t>& numbers, const ConstTensor& scales)
      : StoredTensor(numbers.data(), ElementType::kInt8, 1, numbers.shape(), numbers.strides()) {
    scales_ = scales;
  }

  ElementType type() const noexcept { return type_; }
  std::int64_t element_bytes() const noexcept { return element_bytes_; }
  int rank() const noexcept { return bytes_.rank(); }
  std::span<const std::int64_t> shape() const noexcept { return bytes_.shape(); }
  std::int64_t size(int i) const noexcept { return bytes_.size(i); }
  /// In elements.
  std::int64_t stride(int i) const noexcept { return bytes_.stride(i) / element_bytes_; }
  const void* data() const noexcept { return bytes_.data(); }
  /// The rows of a head, starting with row j.
  kernels::StoredRows rows_at(std::int64_t b, std::int64_t h, std::int64_t j) const noexcept {
    const bool scaled = !scales_.is_none();
    return {type_, bytes_.pointer(b, h, j), stride(2), scaled ? scales_.pointer(b, h, j) : nullptr,
            scaled ? scales_.stride(2) : 0};
  }
  /// Returns the scales, which are empty except for kInt8.
  const ConstTensor& scales() const noexcept { return scales_; }

  StoredTensor unsqueeze(int i) const {
    StoredTensor result = *this;
    result.bytes_ = bytes_.unsqueeze(i);
    return result;
  }

 private:
  StoredTensor(const void* data, ElementType type, std::int64_t element_bytes,
               std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : type_(type), element_bytes_(element_bytes) {
    std::array<std::int64_t, ConstTensor::kMaxRank> in_bytes{};
    for (std::size_t i = 0; i < strides.size(); ++i) {
      // Converting a stride to bytes can overflow only if the tensor has no elements.
      if (__builtin_mul_overflow(strides[i], element_bytes, &in_bytes[i])) in_bytes[i] = 0;
    }
    bytes_ = {static_cast<const std::byte*>(data), shape,
              std::span(in_bytes).first(strides.size())};
  }

  TensorView<const std::byte> bytes_;  ///< sizes count elements, and strides count bytes
  ElementType type_;
  std::int64_t element_bytes_;
  ConstTensor scales_;
};

/// Writes the numbers, which have shape (B, H, N, D), as float32 to a tensor with any strides.
void widen(const StoredTensor& from, const Tensor& to,
           const kernels::KernelTable& kernels) noexcept;

/// Works like scaled_dot_product_attention(), for keys and values as they are stored.
void attend(const ConstAnyTensor& query, const StoredTensor& key, const StoredTensor& value,
            const AnyTensor& output, const AttentionOptions& options, Context& context);

/// A cache in the form that attention reads.
struct KeyValueCacheAccess {
  static StoredTensor keys(const KeyValueCache& cache);
  static StoredTensor values(const KeyValueCache& cache);

  static StoredTensor rows(const KeyValueCache& cache, const KeyValueCache::Rows& rows);
};

}  // namespace attn
