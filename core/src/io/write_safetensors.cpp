#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>

#include "attn/io/safetensors.hpp"
#include "heap_sort.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/safetensors_format.hpp"
#include "io/safetensors_numbers.hpp"
#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using safetensors::kAlignment;
using safetensors::kFile;
using safetensors::kHeader;
using safetensors::kLengthBytes;
using safetensors::kMaxHeader;
using safetensors::kMetadataKey;
using validation::fail;
using validation::Parts;

void append_little_endian(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
}

std::int64_t count_of(const ConstAnyTensor& view) {
  return validation::product(kFile, view.shape());
}

/// A dtype for writing, and the function that converts a float32 number to its bits.
struct Writable {
  const char* name;
  int bytes;
  std::uint32_t (*convert)(float);
};

Writable writable(ElementType dtype) {
  switch (dtype) {
    case ElementType::kFloat32:
      return {"F32", 4, [](float value) { return std::bit_cast<std::uint32_t>(value); }};
    case ElementType::kFloat16:
      return {"F16", 2, [](float value) -> std::uint32_t { return Float16(value).bits(); }};
    case ElementType::kBFloat16:
      return {"BF16", 2, [](float value) -> std::uint32_t { return BFloat16(value).bits(); }};
    default:
      break;
  }
  fail(ErrorCode::kInvalidArgument, "dtype", {to_string(dtype)},
       {"kFloat32, kFloat16 or kBFloat16"});
}

/// The dtype for writing a tensor. A float32 tensor is written as `dtype`; other tensors keep their
/// type.
Writable writable(const ConstAnyTensor& values, ElementType dtype) {
  return writable(values.type() == ElementType::kFloat32 ? dtype : values.type());
}

void append_numbers(std::vector<std::byte>& bytes, const ConstAnyTensor& values,
                    const Writable& kind) {
  const std::int64_t count = count_of(values);
  if (kind.bytes == values.element_bytes() && values.is_contiguous() &&
      std::endian::native == std::endian::little) {
    const auto* first = static_cast<const std::byte*>(values.data());
    bytes.insert(bytes.end(), first, first + count * kind.bytes);
    return;
  }
  values.visit([&]<class T>(const TensorView<const T>& typed) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t number = 0;
      if constexpr (std::is_same_v<T, float>) {
        number = kind.convert(*element(typed, i));
      } else {
        number = element(typed, i)->bits();
      }
      append_little_endian(bytes, number, kind.bytes);
    }
  });
}

/// Returns `text` as a JSON string. Throws if it is not valid UTF-8.
std::string checked_json(const char* what, const std::string& text) {
  if (!is_utf8(text)) {
    fail(ErrorCode::kInvalidArgument, what, {in_quotes(text)}, {"valid UTF-8"});
  }
  return to_json(text);
}

/// Checks the tensors and returns them sorted by name.
std::vector<const NamedTensor*> sorted(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> result;
  result.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kMetadataKey) {
      fail(ErrorCode::kInvalidArgument, "name", {"\"__metadata__\""},
           {"another name; the format reserves this one"});
    }
    validation::require_data(in_quotes(tensor.name), tensor.values);
    result.push_back(&tensor);
  }
  heap_sort(result, &NamedTensor::name);
  const auto twice = std::ranges::adjacent_find(result, {}, &NamedTensor::name);
  if (twice != result.end()) {
    fail(ErrorCode::kInvalidArgument, "name", {in_quotes((*twice)->name), " twice"},
         {"each name only once"});
  }
  return result;
}

std::string header_for(const std::vector<const NamedTensor*>& tensors,
                       const SafetensorsMetadata& metadata, ElementType dtype,
                       std::int64_t& data_size) {
  std::string header = "{";
  const auto write = [&](Parts parts) { validation::append(header, parts); };
  if (!metadata.empty()) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : metadata) {
      write({keys.empty() ? "\"__metadata__\":{" : ",", checked_json("metadata", key), ":",
             checked_json("metadata", value)});
      keys.push_back(key);
    }
    write({"}"});
    heap_sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
      fail(ErrorCode::kInvalidArgument, "metadata", {in_quotes(*twice), " twice"},
           {"each key only once"});
    }
  }
  data_size = 0;
  for (const NamedTensor* tensor : tensors) {
    const Writable kind = writable(tensor->values, dtype);
    const std::int64_t bytes = count_of(tensor->values) * kind.bytes;
    write({header.size() > 1 ? "," : "", checked_json("name", tensor->name), ":{\"dtype\":\"",
           kind.name, "\",\"shape\":["});
    for (int i = 0; i < tensor->values.rank(); ++i) {
      write({i > 0 ? "," : "", tensor->values.size(i)});
    }
    write({"],\"data_offsets\":[", data_size, ","});
    if (__builtin_add_overflow(data_size, bytes, &data_size)) {
      fail(ErrorCode::kSizeOverflow, kFile, {"2^63 bytes or more"},
           {"few enough bytes to fit into the address space"});
    }
    write({data_size, "]}"});
  }
  write({"}"});
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxHeader) {
    fail(ErrorCode::kSizeOverflow, kHeader, {header.size(), " bytes"}, {"at most ", kMaxHeader});
  }
  return header;
}

}  // namespace

std::vector<std::byte> to_safetensors(std::span<const NamedTensor> tensors,
                                      const SafetensorsMetadata& metadata, ElementType dtype) {
  writable(dtype);
  const std::vector<const NamedTensor*> order = sorted(tensors);
  std::int64_t data_size = 0;
  const std::string header = header_for(order, metadata, dtype, data_size);
  std::int64_t size = kLengthBytes + static_cast<std::int64_t>(header.size());
  if (__builtin_add_overflow(size, data_size, &size)) size = -1;
  std::vector<std::byte> bytes;
  bytes.reserve(validation::allocation(kFile, size, 1));
  append_little_endian(bytes, header.size(), kLengthBytes);
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (const NamedTensor* tensor : order) {
    append_numbers(bytes, tensor->values, writable(tensor->values, dtype));
  }
  return bytes;
}

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const SafetensorsMetadata& metadata, ElementType dtype) {
  write_file(to_path(path), to_safetensors(tensors, metadata, dtype));
}

}  // namespace attn
