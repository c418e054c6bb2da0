#include "attn/attention/key_value_cache.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "validation.hpp"

namespace attn {
namespace {

template <class T>
TensorView<T> stored(T* data, std::int64_t batch, std::int64_t heads, std::int64_t capacity,
                     std::int64_t length, std::int64_t dim) {
  const std::array shape{batch, heads, length, dim};
  const std::array strides{heads * capacity * dim, capacity * dim, dim, std::int64_t{1}};
  return TensorView<T>(data, shape, strides);
}

void copy(const ConstTensor& source, const Tensor& target) noexcept {
  for (std::int64_t b = 0; b < source.size(0); ++b) {
    for (std::int64_t h = 0; h < source.size(1); ++h) {
      for (std::int64_t i = 0; i < source.size(2); ++i) {
        for (std::int64_t d = 0; d < source.size(3); ++d) target(b, h, i, d) = source(b, h, i, d);
      }
    }
  }
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t batch, std::int64_t num_kv_heads, std::int64_t head_dim,
                             std::int64_t value_dim, std::int64_t capacity)
    : batch_(batch), num_kv_heads_(num_kv_heads), head_dim_(head_dim), value_dim_(value_dim) {
  validation::require_at_least("batch", batch, 1);
  validation::require_at_least("num_kv_heads", num_kv_heads, 1);
  validation::require_at_least("head_dim", head_dim, 1);
  validation::require_at_least("value_dim", value_dim, 1);
  validation::require_at_least("capacity", capacity, 0);
  reserve(capacity);
}

ConstTensor KeyValueCache::keys() const noexcept {
  return stored(keys_.data(), batch_, num_kv_heads_, capacity_, length_, head_dim_);
}

ConstTensor KeyValueCache::values() const noexcept {
  return stored(values_.data(), batch_, num_kv_heads_, capacity_, length_, value_dim_);
}

std::array<std::vector<float>, 2> KeyValueCache::reserve(std::int64_t capacity) {
  const auto allocate = [&](std::int64_t dim) {
    const std::int64_t count = validation::product("cache", {batch_, num_kv_heads_, capacity, dim});
    if (static_cast<std::uint64_t>(count) > PTRDIFF_MAX / sizeof(float)) {
      validation::fail(ErrorCode::kSizeOverflow, "cache", {capacity, " tokens"},
                       {"no more than fit into the address space"});
    }
    return std::vector<float>(static_cast<std::size_t>(count));
  };
  std::vector<float> keys = allocate(head_dim_);
  std::vector<float> values = allocate(value_dim_);
  copy(this->keys(), stored(keys.data(), batch_, num_kv_heads_, capacity, length_, head_dim_));
  copy(this->values(), stored(values.data(), batch_, num_kv_heads_, capacity, length_, value_dim_));
  std::swap(keys_, keys);
  std::swap(values_, values);
  capacity_ = capacity;
  return {std::move(keys), std::move(values)};
}

void KeyValueCache::append(const ConstTensor& key, const ConstTensor& value) {
  validation::require_shape("key", key, {batch_, num_kv_heads_, -1, head_dim_});
  const std::int64_t added = key.size(2);
  validation::require_shape("value", value, {batch_, num_kv_heads_, added, value_dim_});
  validation::require_data("key", key);
  validation::require_data("value", value);
  const std::int64_t length = length_ + added;
  // Kept until the end: key and value may be views of what is cached.
  std::array<std::vector<float>, 2> replaced;
  if (length > capacity_) replaced = reserve(std::max({length, 2 * capacity_, std::int64_t{16}}));
  copy(key, stored(keys_.data(), batch_, num_kv_heads_, capacity_, length, head_dim_)
                .slice(2, length_, length));
  copy(value, stored(values_.data(), batch_, num_kv_heads_, capacity_, length, value_dim_)
                  .slice(2, length_, length));
  length_ = length;
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_) {
    validation::fail_value("length", length,
                           {"at most the ", length_, " tokens stored, and at least 0"});
  }
  length_ = length;
}

}  // namespace attn
