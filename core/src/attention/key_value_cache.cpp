#include "attn/attention/key_value_cache.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "attention/stored_tensor.hpp"
#include "runtime/dispatch.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Number of rows that are widened together.
constexpr std::int64_t kWidenedRows = 16;

std::int64_t bytes_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt8:
      return 1;
    default:
      return 2;
  }
}

/// A view of (B, Hkv, length) rows in memory that has space for `capacity` rows per head.
template <class T>
TensorView<T> stored(T* data, std::int64_t batch, std::int64_t heads, std::int64_t capacity,
                     std::int64_t length, std::int64_t dim) {
  const std::array shape{batch, heads, length, dim};
  const std::array strides{heads * capacity * dim, capacity * dim, dim, std::int64_t{1}};
  return TensorView<T>(data, shape, strides);
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t batch, std::int64_t num_kv_heads, std::int64_t head_dim,
                             std::int64_t value_dim, std::int64_t capacity, ElementType type)
    : batch_(batch), num_kv_heads_(num_kv_heads), type_(type) {
  validation::require_at_least("batch", batch, 1);
  validation::require_at_least("num_kv_heads", num_kv_heads, 1);
  validation::require_at_least("head_dim", head_dim, 1);
  validation::require_at_least("value_dim", value_dim, 1);
  validation::require_at_least("capacity", capacity, 0);
  if (static_cast<int>(type) < 0 || type > ElementType::kInt8) {
    validation::fail_value("type", static_cast<int>(type), {"an ElementType"});
  }
  keys_.dim = head_dim;
  values_.dim = value_dim;
  reserve(capacity);
}

template <class T>
TensorView<const T> KeyValueCache::view(const Rows& rows) const {
  return stored(reinterpret_cast<const T*>(rows.numbers.data()), batch_, num_kv_heads_, capacity_,
                length_, rows.dim);
}

ConstTensor KeyValueCache::keys() const {
  if (type_ != ElementType::kFloat32) {
    validation::fail(ErrorCode::kUnsupported, "keys", {"a ", to_string(type_), " cache"},
                     {"a float32 cache for a float32 view"});
  }
  return view<float>(keys_);
}

ConstTensor KeyValueCache::values() const {
  if (type_ != ElementType::kFloat32) {
    validation::fail(ErrorCode::kUnsupported, "values", {"a ", to_string(type_), " cache"},
                     {"a float32 cache for a float32 view"});
  }
  return view<float>(values_);
}

void KeyValueCache::read_keys(const Tensor& output) const { read(keys_, output); }
void KeyValueCache::read_values(const Tensor& output) const { read(values_, output); }

void KeyValueCache::read(const Rows& rows, const Tensor& output) const {
  validation::require_shape("output", output, {batch_, num_kv_heads_, length_, rows.dim});
  validation::require_data("output", output);
  widen(KeyValueCacheAccess::rows(*this, rows), output, runtime::best_kernels());
}

KeyValueCache::Rows KeyValueCache::allocate(std::int64_t dim, std::int64_t capacity) const {
  const std::int64_t count = validation::product("cache", {batch_, num_kv_heads_, capacity, dim});
  if (static_cast<std::uint64_t>(count) > static_cast<std::uint64_t>(PTRDIFF_MAX) / sizeof(float)) {
    validation::fail(ErrorCode::kSizeOverflow, "cache", {capacity, " tokens"},
                     {"few enough tokens to fit into the address space"});
  }
  Rows rows{dim, std::vector<std::byte>(static_cast<std::size_t>(count * bytes_of(type_))), {}};
  if (type_ == ElementType::kInt8) rows.scales.resize(static_cast<std::size_t>(count / dim));
  return rows;
}

std::array<KeyValueCache::Rows, 2> KeyValueCache::reserve(std::int64_t capacity) {
  Rows keys = allocate(keys_.dim, capacity);
  Rows values = allocate(values_.dim, capacity);
  const auto copy = [&](const Rows& from, Rows& to) {
    if (length_ == 0) return;
    const std::int64_t row = from.dim * bytes_of(type_);
    for (std::int64_t head = 0; head < batch_ * num_kv_heads_; ++head) {
      std::memcpy(to.numbers.data() + head * capacity * row,
                  from.numbers.data() + head * capacity_ * row,
                  static_cast<std::size_t>(length_ * row));
      if (from.scales.empty()) continue;
      std::copy_n(from.scales.data() + head * capacity_, length_,
                  to.scales.data() + head * capacity);
    }
  };
  copy(keys_, keys);
  copy(values_, values);
  std::swap(keys_, keys);
  std::swap(values_, values);
  capacity_ = capacity;
  return {std::move(keys), std::move(values)};
}

/// Writes the rows of `from` after the last row of the cache.
void KeyValueCache::write(const ConstAnyTensor& from, Rows& rows, float* widened) noexcept {
  // Conversions are bit-identical on every instruction set.
  const kernels::KernelTable& kernels = runtime::best_kernels();
  const bool is_float = from.type() == ElementType::kFloat32;
  const std::int64_t count = from.size(2);
  const std::int64_t step = is_float ? count : kWidenedRows;
  for (std::int64_t head = 0; head < batch_ * num_kv_heads_; ++head) {
    for (std::int64_t i = 0; i < count; i += step) {
      const std::int64_t at = head * capacity_ + length_ + i;
      kernels::NarrowArgs args;
      args.rows = std::min(step, count - i);
      args.cols = rows.dim;
      args.type = type_;
      args.to = rows.numbers.data() + at * rows.dim * bytes_of(type_);
      args.to_row = rows.dim;
      if (!rows.scales.empty()) args.scales = rows.scales.data() + at;
      args.scale_row = 1;
      from.visit([&](const auto& typed) {
        const auto* first = typed.pointer(head / num_kv_heads_, head % num_kv_heads_, i, 0);
        if constexpr (std::is_same_v<decltype(first), const float*>) {
          args.from = {first, typed.stride(2), typed.stride(3)};
        } else {
          kernels::WidenArgs wide;
          wide.rows = args.rows;
          wide.cols = wide.padded_cols = rows.dim;
          wide.from = {from.type(), first, typed.stride(2), nullptr, 0};
          wide.from_col = typed.stride(3);
          wide.to = {widened, rows.dim};
          kernels.widen(wide);
          args.from = {widened, rows.dim};
        }
      });
      kernels.narrow(args);
    }
  }
}

void KeyValueCache::append(const ConstAnyTensor& key, const ConstAnyTensor& value) {
  validation::require_shape("key", key.shape(), {batch_, num_kv_heads_, -1, keys_.dim});
  const std::int64_t added = key.size(2);
  validation::require_shape("value", value.shape(), {batch_, num_kv_heads_, added, values_.dim});
  validation::require_data("key", key);
  validation::require_data("value", value);
  const std::int64_t length = length_ + added;
  std::vector<float> widened;
  for (const auto& [from, dim] : {std::pair(&key, keys_.dim), std::pair(&value, values_.dim)}) {
    if (from->type() == ElementType::kFloat32) continue;
    widened.resize(
        std::max(widened.size(), static_cast<std::size_t>(std::min(kWidenedRows, added) * dim)));
  }
  // Keeps the replaced memory until this function returns, because `key` and `value` may be views
  // of it.
  std::array<Rows, 2> replaced;
  if (length > capacity_) replaced = reserve(std::max({length, 2 * capacity_, std::int64_t{16}}));
  write(key, keys_, widened.data());
  write(value, values_, widened.data());
  length_ = length;
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_) {
    validation::fail_value("length", length, {"0 to ", length_, ", the number of stored tokens"});
  }
  length_ = length;
}

StoredTensor KeyValueCacheAccess::rows(const KeyValueCache& cache,
                                       const KeyValueCache::Rows& rows) {
  switch (cache.type_) {
    case ElementType::kFloat16:
      return ConstAnyTensor(cache.view<Float16>(rows));
    case ElementType::kBFloat16:
      return ConstAnyTensor(cache.view<BFloat16>(rows));
    case ElementType::kInt8: {
      const std::array shape{cache.batch_, cache.num_kv_heads_, cache.length_};
      const std::array strides{cache.num_kv_heads_ * cache.capacity_, cache.capacity_,
                               std::int64_t{1}};
      return {cache.view<std::int8_t>(rows), ConstTensor(rows.scales.data(), shape, strides)};
    }
    default:
      return ConstAnyTensor(cache.view<float>(rows));
  }
}

StoredTensor KeyValueCacheAccess::keys(const KeyValueCache& cache) {
  return rows(cache, cache.keys_);
}
StoredTensor KeyValueCacheAccess::values(const KeyValueCache& cache) {
  return rows(cache, cache.values_);
}

}  // namespace attn
