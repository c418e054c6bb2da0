#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/element_type.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Keys and values of past tokens, for decoding token by token. Attention reads them in place:
///
///   cache.append(new_keys, new_values);
///   options.diagonal = Diagonal::offset(cache.length() - num_new);
///   scaled_dot_product_attention(new_queries, cache, output, options);
///
/// Numbers are stored as float32, or in half or a quarter of the bytes, which is what decoding has
/// to read for each token. float16 and bfloat16 round each number to the nearest. int8 has a
/// float32 scale s for each token and head, the row's largest magnitude divided by 127, and stores
/// each number x as the nearest integer to x/s: the error is at most 1/253 of the row's largest
/// magnitude. A row with NaN or infinity in it becomes NaN as a whole, and one whose
/// magnitudes are all below 2^-120 becomes zero, as at most then. Bits do not depend on the
/// instruction set.
///
/// A copy branches off, e.g. for beam search; one that has been moved from may only be destroyed or
/// assigned to. Not to be used in one thread while another one changes it. Memory: B·Hkv·capacity ·
/// ((D + Dv) · bytes of the type, and 8 for int8).
class ATTN_API KeyValueCache {
 public:
  /// head_dim is D and value_dim Dv, both of one head; a layer makes the cache that it needs, see
  /// MultiHeadAttention::make_cache(). Room for `capacity` tokens at first; it doubles when it is
  /// used up. Throws kInvalidArgument
  /// for a size below 1 (capacity may be 0) or an unknown type, kSizeOverflow, std::bad_alloc.
  KeyValueCache(std::int64_t batch, std::int64_t num_kv_heads, std::int64_t head_dim,
                std::int64_t value_dim, std::int64_t capacity = 0,
                ElementType type = ElementType::kFloat32);

  ElementType type() const noexcept { return type_; }
  std::int64_t length() const noexcept { return length_; }
  std::int64_t capacity() const noexcept { return capacity_; }

  /// What ONNX calls present_key and present_value: (B, Hkv, length, D) and (B, Hkv, length, Dv),
  /// of a cache of float32; valid until the next append, truncate or clear. Throws kUnsupported for
  /// another type.
  ConstTensor keys() const;
  ConstTensor values() const;

  /// Writes the same as float32, whatever the type. Any strides. Throws kShapeMismatch and
  /// kInvalidArgument for null data.
  void read_keys(const Tensor& output) const;
  void read_values(const Tensor& output) const;

  /// Appends key (B, Hkv, N, D) and value (B, Hkv, N, Dv), of any types and strides; they may be
  /// views of this cache. Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow,
  /// std::bad_alloc; the cache is then as it was.
  void append(const ConstAnyTensor& key, const ConstAnyTensor& value);

  /// Forgets all tokens from `length` on. Throws kInvalidArgument unless 0 ≤ length ≤ length().
  void truncate(std::int64_t length);
  /// Forgets all tokens. Like truncate(), keeps the memory.
  void clear() noexcept { length_ = 0; }

 private:
  friend struct KeyValueCacheAccess;

  /// Keys or values: rows of all heads, and their scales where the type has them.
  struct Rows {
    std::int64_t dim = 0;
    std::vector<std::byte> numbers;  ///< (B, Hkv, capacity, dim)
    std::vector<float> scales;       ///< (B, Hkv, capacity)
  };

  Rows allocate(std::int64_t dim, std::int64_t capacity) const;
  /// Returns the memory that it replaces.
  std::array<Rows, 2> reserve(std::int64_t capacity);
  void write(const ConstAnyTensor& from, Rows& rows, float* widened) noexcept;
  void read(const Rows& rows, const Tensor& output) const;
  template <class T>
  TensorView<const T> view(const Rows& rows) const;

  std::int64_t batch_, num_kv_heads_;
  ElementType type_;
  std::int64_t capacity_ = 0;
  std::int64_t length_ = 0;
  Rows keys_, values_;
};

}  // namespace attn
