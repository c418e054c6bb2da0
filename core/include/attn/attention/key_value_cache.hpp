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

/// The keys and values of past tokens, for decoding one token at a time. Attention reads them in
/// place:
///
///   cache.append(new_keys, new_values);
///   options.diagonal = Diagonal::offset(cache.length() - num_new);
///   scaled_dot_product_attention(new_queries, cache, output, options);
///
/// Numbers are stored as float32, as 16-bit floats (half as many bytes) or as int8 (a quarter as
/// many bytes). Decoding reads all of these bytes for each token. With float16 and bfloat16, each
/// number is rounded to the nearest value of that type. With int8, each row (one token in one head)
/// has a float32 scale s, which is the row's largest magnitude divided by 127, and each number x is
/// stored as the integer nearest to x/s. The error is at most 1/253 of the row's largest magnitude.
/// If a row contains NaN or infinity, the whole row becomes NaN. A row whose magnitudes are all
/// below 2^-120 becomes zero. The stored numbers are bit-identical on every instruction set.
///
/// Copy a cache to branch off a sequence, e.g. for beam search. A moved-from cache may only be
/// destroyed or assigned to. Do not use a cache in one thread while another thread changes it. A
/// cache takes B·Hkv·capacity · ((D + Dv) · (bytes per number) + s) bytes, where s is 8 for int8
/// and 0 otherwise.
class ATTN_API KeyValueCache {
 public:
  /// `head_dim` is D and `value_dim` is Dv; both are widths of one head.
  /// MultiHeadAttention::make_cache() makes a cache that fits its layer. The cache initially has
  /// room for `capacity` tokens. The capacity doubles when the cache is full. Throws
  /// kInvalidArgument for a size below 1 (`capacity` may be 0) or an unknown type. May also throw
  /// kSizeOverflow or std::bad_alloc.
  KeyValueCache(std::int64_t batch, std::int64_t num_kv_heads, std::int64_t head_dim,
                std::int64_t value_dim, std::int64_t capacity = 0,
                ElementType type = ElementType::kFloat32);

  ElementType type() const noexcept { return type_; }
  std::int64_t length() const noexcept { return length_; }
  std::int64_t capacity() const noexcept { return capacity_; }

  /// The keys (B, Hkv, length, D) and values (B, Hkv, length, Dv) of a float32 cache. ONNX calls
  /// them present_key and present_value. The views are valid until the next append, truncate or
  /// clear. Throws kUnsupported if the cache has another type.
  ConstTensor keys() const;
  ConstTensor values() const;

  /// Copies the keys or values to `output` as float32, whatever the type of the cache. `output` may
  /// have any strides. Throws kInvalidArgument for a null data pointer. May also throw
  /// kShapeMismatch.
  void read_keys(const Tensor& output) const;
  void read_values(const Tensor& output) const;

  /// Appends `key` (B, Hkv, N, D) and `value` (B, Hkv, N, Dv), which may have any element type and
  /// strides. They may be views of this cache. Throws kInvalidArgument for a null data pointer. May
  /// also throw kShapeMismatch, kSizeOverflow or std::bad_alloc. If it throws, the cache is
  /// unchanged.
  void append(const ConstAnyTensor& key, const ConstAnyTensor& value);

  /// Removes all tokens starting at position `length`. Throws kInvalidArgument unless 0 ≤ length ≤
  /// length().
  void truncate(std::int64_t length);
  /// Removes all tokens but, like truncate(), keeps the memory.
  void clear() noexcept { length_ = 0; }

 private:
  friend struct KeyValueCacheAccess;

  /// Keys or values: the rows of all heads, and their scales if the type uses scales.
  struct Rows {
    std::int64_t dim = 0;
    std::vector<std::byte> numbers;  ///< (B, Hkv, capacity, dim)
    std::vector<float> scales;       ///< (B, Hkv, capacity)
  };

  Rows allocate(std::int64_t dim, std::int64_t capacity) const;
  /// Moves the tokens to new memory for `capacity` tokens and returns the old memory.
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
