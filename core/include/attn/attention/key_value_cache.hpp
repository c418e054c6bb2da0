#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Keys and values of past tokens, for decoding token by token. Attention reads them in place:
///
///   cache.append(new_keys, new_values);
///   options.diagonal = Diagonal::offset(cache.length() - num_new);
///   scaled_dot_product_attention(new_queries, cache.keys(), cache.values(), output, options);
///
/// After append, keys() and values() are what ONNX calls present_key and present_value. A copy
/// branches off, e.g. for beam search; one that has been moved from may only be destroyed or
/// assigned to. Not to be used in one thread while another one changes it. Memory:
/// 4·B·Hkv·capacity·(D + Dv) bytes.
class ATTN_API KeyValueCache {
 public:
  /// head_dim is D and value_dim Dv, both of one head; a layer makes the cache that it needs, see
  /// MultiHeadAttention::make_cache(). Room for `capacity` tokens at first; it doubles when it is
  /// used up. Throws kInvalidArgument
  /// for a size below 1 (capacity may be 0), kSizeOverflow, std::bad_alloc.
  KeyValueCache(std::int64_t batch, std::int64_t num_kv_heads, std::int64_t head_dim,
                std::int64_t value_dim, std::int64_t capacity = 0);

  std::int64_t length() const noexcept { return length_; }
  std::int64_t capacity() const noexcept { return capacity_; }

  /// (B, Hkv, length, D) and (B, Hkv, length, Dv); valid until the next append, truncate or clear.
  ConstTensor keys() const noexcept;
  ConstTensor values() const noexcept;

  /// Appends key (B, Hkv, N, D) and value (B, Hkv, N, Dv), any strides; they may be views
  /// of this cache. Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow,
  /// std::bad_alloc; the cache is then as it was.
  void append(const ConstTensor& key, const ConstTensor& value);

  /// Forgets all tokens from `length` on. Throws kInvalidArgument unless 0 ≤ length ≤ length().
  void truncate(std::int64_t length);
  /// Forgets all tokens. Like truncate(), keeps the memory.
  void clear() noexcept { length_ = 0; }

 private:
  /// Returns the memory that it replaces.
  std::array<std::vector<float>, 2> reserve(std::int64_t capacity);

  std::int64_t batch_, num_kv_heads_, head_dim_, value_dim_;
  std::int64_t capacity_ = 0;
  std::int64_t length_ = 0;
  std::vector<float> keys_;
  std::vector<float> values_;
};

}  // namespace attn
