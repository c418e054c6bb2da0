#include "attn/io/safetensors.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "heap_sort.hpp"
#include "io/file.hpp"
#include "io/foreign_file.hpp"
#include "io/json.hpp"
#include "io/safetensors_format.hpp"
#include "io/safetensors_numbers.hpp"
#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using safetensors::kFile;
using safetensors::kHeader;
using safetensors::kLengthBytes;
using safetensors::kMaxHeader;
using safetensors::kMetadataKey;
using validation::fail;
using validation::Parts;

struct Dtype {
  std::string_view name;
  std::int64_t bits;
};
constexpr Dtype kDtypes[] = {
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
};

[[noreturn]] void fail_header(Parts got, Parts needs) {
  fail(ErrorCode::kInvalidFormat, kHeader, got, needs);
}

[[noreturn]] void fail_tensor(std::string_view name, Parts got, Parts needs) {
  fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(name), got, needs);
}

/// Parses the header. Detects unknown and duplicate fields, but not duplicate names.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, std::vector<SafetensorsEntry>& tensors,
               SafetensorsMetadata& metadata)
      : json_(kHeader, header), tensors_(tensors), metadata_(metadata) {}

  void read() {
    bool has_metadata = false;
    json_.enter();
    for (bool first = true; json_.next('}', first);) {
      std::string name = json_.key();
      if (name != kMetadataKey) {
        read_tensor(std::move(name));
        continue;
      }
      if (has_metadata) fail_header({"two __metadata__ objects"}, {"only one"});
      has_metadata = true;
      if (json_.peek() == '{') {
        read_metadata();
      } else if (const std::string value = describe_next(); value != "null") {
        fail_header({value, " as __metadata__"}, {"an object"});
      }
    }
    json_.end();
  }

 private:
  enum Field { kDtype, kShape, kOffsets, kFields };
  static constexpr const char* kFieldNames[] = {"dtype", "shape", "data_offsets"};

  /// Reads the object __metadata__. Does not detect duplicate keys; check_metadata() detects them
  /// after the whole header has been read.
  void read_metadata() {
    json_.enter();
    for (bool first = true; json_.next('}', first);) {
      std::string key = json_.key();
      if (json_.peek() != '"') {
        fail_header({describe_next(), " for ", in_quotes(key), " in __metadata__"}, {"a string"});
      }
      metadata_.emplace_back(std::move(key), json_.string());
    }
  }

  void read_tensor(std::string name) {
    SafetensorsEntry entry;
    entry.name = std::move(name);
    if (json_.peek() != '{') {
      fail_tensor(entry.name, {describe_next()}, {"an object"});
    }
    bool seen[kFields] = {};
    json_.enter();
    for (bool first = true; json_.next('}', first);) {
      const Field field = read_field(entry.name);
      if (seen[field])
        fail_tensor(entry.name, {"two ", kFieldNames[field], " fields"}, {"only one"});
      seen[field] = true;
      if (json_.peek() != (field == kDtype ? '"' : '[')) {
        fail_tensor(entry.name, {describe_next(), " as ", kFieldNames[field]},
                    {field == kDtype ? "a string" : "an array of numbers"});
      }
      if (field == kDtype) {
        entry.dtype = json_.string();
      } else if (field == kShape) {
        entry.shape = read_numbers(entry.name, field);
      } else {
        const std::vector<std::int64_t> place = read_numbers(entry.name, field);
        if (place.size() != 2) {
          fail_tensor(entry.name, {place.size(), " numbers in data_offsets"},
                      {"two: begin and end"});
        }
        entry.begin = place[0];
        entry.end = place[1];
      }
    }
    for (int field = 0; field < kFields; ++field) {
      if (!seen[field]) fail_tensor(entry.name, {"no ", kFieldNames[field]}, {"one"});
    }
    tensors_.push_back(std::move(entry));
  }

  Field read_field(const std::string& name) {
    const std::string key = json_.key();
    for (int field = 0; field < kFields; ++field) {
      if (key == kFieldNames[field]) return static_cast<Field>(field);
    }
    fail_tensor(name, {"the unknown field ", in_quotes(key)},
                {"only dtype, shape and data_offsets"});
  }

  std::vector<std::int64_t> read_numbers(const std::string& name, Field field) {
    std::vector<std::int64_t> numbers;
    json_.enter();
    for (bool first = true; json_.next(']', first);) {
      const char c = json_.peek();
      if (c != '-' && (c < '0' || c > '9')) {
        fail_tensor(name, {describe_next(), " in ", kFieldNames[field]}, {"whole numbers"});
      }
      numbers.push_back(read_number(name, field));
    }
    return numbers;
  }

  std::int64_t read_number(const std::string& name, Field field) {
    const std::string_view text = json_.number();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const char* needs = end != text.data() + text.size() ? "whole numbers"
                        : error != std::errc()           ? "numbers below 2^63"
                        : text[0] == '-'                 ? "numbers of 0 or more"
                                                         : nullptr;
    if (!needs) return value;
    constexpr std::size_t kLongest = 40;
    fail_tensor(
        name,
        {text.substr(0, kLongest), text.size() > kLongest ? "…" : "", " in ", kFieldNames[field]},
        {needs});
  }

  /// Describes the next value for an error message about its type.
  std::string describe_next() {
    return json_.peek() == '"' ? in_quotes(json_.string()) : json_.describe();
  }

  JsonReader json_;
  std::vector<SafetensorsEntry>& tensors_;
  SafetensorsMetadata& metadata_;
};

/// The number of bytes of a tensor with this dtype and shape.
std::int64_t bytes_of(const SafetensorsEntry& entry) {
  const auto* dtype = std::ranges::find(kDtypes, entry.dtype, &Dtype::name);
  if (dtype == std::end(kDtypes)) {
    fail_tensor(entry.name, {"dtype ", in_quotes(entry.dtype)},
                {"a dtype of the safetensors format"});
  }
  std::int64_t bits = dtype->bits;
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bits, size, &bits)) {
      fail_tensor(entry.name, {"shape ", entry.shape}, {"few enough elements to be addressed"});
    }
  }
  if (bits % 8 != 0) {
    fail_tensor(entry.name, {bits, " bits of ", entry.dtype, " in shape ", entry.shape},
                {"a whole number of bytes"});
  }
  return bits / 8;
}

/// Checks that the tensors, in the order of their bytes, fill the data without gaps.
void check_places(const std::vector<SafetensorsEntry>& tensors, std::int64_t data_size) {
  std::int64_t expected = 0;
  const SafetensorsEntry* previous = nullptr;
  for (const SafetensorsEntry& entry : tensors) {
    const std::string offsets =
        validation::join({"data_offsets [", entry.begin, ", ", entry.end, ")"});
    if (entry.end < entry.begin) {
      fail_tensor(entry.name, {offsets}, {"begin <= end"});
    }
    if (entry.end > data_size) {
      fail_tensor(entry.name, {offsets}, {"to end within the ", data_size, " bytes of data"});
    }
    const std::int64_t bytes = bytes_of(entry);
    if (entry.end - entry.begin != bytes) {
      fail_tensor(entry.name, {offsets},
                  {bytes, " bytes for ", entry.dtype, " of shape ", entry.shape});
    }
    if (entry.begin < expected) {
      fail_tensor(entry.name, {offsets},
                  {"to begin at ", expected, ", the end of tensor ", in_quotes(previous->name)});
    }
    if (entry.begin > expected) {
      fail_tensor(entry.name, {offsets},
                  {"to begin at ", expected, ", the end of the data before it"});
    }
    expected = entry.end;
    previous = &entry;
  }
  if (expected != data_size) {
    fail(ErrorCode::kInvalidFormat, kFile,
         {data_size - expected, " bytes at the end of the data that belong to no tensor"},
         {"none"});
  }
}

void check_metadata(const SafetensorsMetadata& metadata) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : metadata) keys.push_back(key);
  heap_sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    fail_header({in_quotes(*twice), " twice in __metadata__"}, {"each key only once"});
  }
}

/// Returns the header's complete text. Checks the bytes before the JSON.
std::string_view header_of(std::span<const std::byte> bytes, std::int64_t file_size) {
  const std::int64_t size = safetensors_header_size(bytes, file_size);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                static_cast<std::size_t>(size - kLengthBytes));
  if (!header.starts_with('{')) {
    fail_header({in_quotes(header.substr(0, 1)), " at byte 1"}, {"\"{\""});
  }
  return header;
}

/// Returns the indices of the tensors, sorted by name. Throws if a name appears twice.
std::vector<std::size_t> by_name(const std::vector<SafetensorsEntry>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto name_of = [&](std::size_t i) -> const std::string& { return tensors[i].name; };
  heap_sort(order, name_of);
  if (const auto twice = std::ranges::adjacent_find(order, {}, name_of); twice != order.end()) {
    fail_tensor(name_of(*twice), {"two entries"}, {"only one"});
  }
  return order;
}

}  // namespace

std::int64_t safetensors_header_size(std::span<const std::byte> beginning, std::int64_t file_size) {
  const std::int64_t known = std::min<std::int64_t>(std::ssize(beginning), file_size);
  if (known < kLengthBytes) {
    fail(ErrorCode::kInvalidFormat, kFile, {known, " bytes"},
         {"at least 8 for the length of the header"});
  }
  const std::uint64_t length = little_endian(beginning.data(), kLengthBytes);
  if (length > kMaxHeader || length > static_cast<std::uint64_t>(file_size)) {
    const ForeignFile* foreign = recognize_foreign_file(
        {reinterpret_cast<const char*>(beginning.data()), static_cast<std::size_t>(known)});
    if (foreign) fail(ErrorCode::kInvalidFormat, kFile, {foreign->kind}, {foreign->remedy});
  }
  if (length > kMaxHeader) {
    fail_header({"length ", length}, {"at most ", kMaxHeader});
  }
  const auto size = static_cast<std::int64_t>(length) + kLengthBytes;
  if (size > file_size) {
    fail_header({"length ", length}, {"to end within the ", file_size, " bytes of the file"});
  }
  return size;
}

namespace {

SafetensorsHeader read_header(std::span<const std::byte> beginning, std::int64_t file_size) {
  const std::string_view text = header_of(beginning, file_size);
  SafetensorsHeader header;
  HeaderReader(text, header.tensors, header.metadata).read();
  header.data_begin = kLengthBytes + std::ssize(text);

  heap_sort(header.tensors,
            [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
  by_name(header.tensors);
  check_places(header.tensors, file_size - header.data_begin);
  check_metadata(header.metadata);
  return header;
}

}  // namespace

SafetensorsHeader read_safetensors_header(std::span<const std::byte> beginning,
                                          std::int64_t file_size) {
  const std::int64_t size = safetensors_header_size(beginning, file_size);
  if (std::ssize(beginning) < size) {
    fail_header({beginning.size(), " bytes of the file"},
                {"all ", size, " up to the end of the header"});
  }
  return read_header(beginning, file_size);
}

Safetensors Safetensors::view(std::span<const std::byte> bytes) {
  SafetensorsHeader header = read_header(bytes, std::ssize(bytes));
  Safetensors file;
  file.data_ = bytes.subspan(static_cast<std::size_t>(header.data_begin));
  file.tensors_ = std::move(header.tensors);
  file.metadata_ = std::move(header.metadata);
  file.by_name_ = by_name(file.tensors_);
  return file;
}

Safetensors Safetensors::own(std::vector<std::byte> bytes) {
  Safetensors file = view(bytes);
  // Views of the elements stay valid, because moving a vector does not move its elements.
  file.owned_ = std::move(bytes);
  return file;
}

Safetensors Safetensors::load(const std::string& path) {
  InputFile file(to_path(path));
  std::vector<std::byte> bytes(validation::allocation("file", file.size(), 1));
  file.read(bytes);
  return own(std::move(bytes));
}

bool Safetensors::contains(std::string_view name) const noexcept {
  return std::ranges::binary_search(
      by_name_, name, {}, [&](std::size_t i) { return std::string_view(tensors_[i].name); });
}

const SafetensorsEntry& Safetensors::entry(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [&](std::size_t i) { return std::string_view(tensors_[i].name); });
  if (found != by_name_.end() && tensors_[*found].name == name) return tensors_[*found];
  fail(ErrorCode::kNotFound, "name", {in_quotes(name)}, {"the name of a tensor in the file"});
}

void Safetensors::require_readable(const SafetensorsEntry& entry) {
  stored_numbers(entry.name, entry.dtype);
}

void Safetensors::read(std::string_view name, const Tensor& output) const {
  const SafetensorsEntry& source = entry(name);
  const StoredNumbers kind = stored_numbers(source.name, source.dtype);
  if (!std::ranges::equal(output.shape(), source.shape)) {
    validation::fail_shape("output", output.shape(),
                           {"shape ", source.shape, " of tensor ", in_quotes(name)});
  }
  validation::require_data("output", output);
  const std::byte* first = data_.data() + source.begin;
  const std::int64_t count = (source.end - source.begin) / kind.bytes;
  if (output.is_contiguous()) return kind.read(first, count, output.data());
  for (std::int64_t i = 0; i < count; ++i) kind.read(first + i * kind.bytes, 1, element(output, i));
}

std::vector<float> Safetensors::read(std::string_view name) const {
  const SafetensorsEntry& source = entry(name);
  const StoredNumbers kind = stored_numbers(source.name, source.dtype);
  const std::int64_t count = (source.end - source.begin) / kind.bytes;
  std::vector<float> values(validation::allocation(kFile, count, sizeof(float)));
  kind.read(data_.data() + source.begin, count, values.data());
  return values;
}

}  // namespace attn
