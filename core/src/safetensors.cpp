#include "attn/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>

#define JSON_NO_IO 1
#include <nlohmann/json.hpp>

#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using nlohmann::json;
using validation::fail;

constexpr std::int64_t kLengthBytes = 8;
/// The official implementation's limit, in bytes.
constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadataKey = "__metadata__";

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

[[noreturn]] void fail_format(const std::string& message) {
  fail(ErrorCode::kInvalidFormat, "safetensors: " + message);
}

/// A name in a message: control characters and quotes escaped, bad UTF-8 replaced, no longer than
/// a line.
std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  std::string text =
      json(name.substr(0, kLongest)).dump(-1, ' ', false, json::error_handler_t::replace);
  if (name.size() > kLongest) text.insert(text.size() - 1, "…");
  return text;
}

[[noreturn]] void fail_tensor(std::string_view name, const std::string& message) {
  fail_format("tensor " + in_quotes(name) + ": " + message);
}

/// Takes the header apart while it is parsed. There is no tree: nothing is kept of what is not
/// asked for, duplicate keys are seen, and depth costs nothing.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  HeaderReader(std::vector<SafetensorsEntry>& tensors, SafetensorsMetadata& metadata)
      : tensors_(tensors), metadata_(metadata) {}

  bool null() override { return other_value("null"); }
  bool boolean(bool value) override { return other_value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    if (is_number_expected()) fail_number(std::to_string(value), "a negative number");
    return other_value(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!is_number_expected()) return other_value(std::to_string(value));
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      fail_number(std::to_string(value), "a number beyond 2^63 − 1");
    }
    numbers().push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override {
    // What does not fit into 64 bits comes here too.
    const bool whole = text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos;
    if (is_number_expected()) {
      fail_number(text, whole ? "a number beyond 2^63 − 1" : "a number that is not whole");
    }
    return other_value(text);
  }
  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      metadata_.back().second = std::move(value);
      return true;
    }
    if (place_ == Place::kEntry && field_ == Field::kDtype) {
      entry_.dtype = std::move(value);
      return true;
    }
    return other_value(in_quotes(value));
  }
  bool binary(binary_t&) override { return other_value("binary data"); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::kOutside:
        place_ = Place::kTop;
        return true;
      case Place::kTop:
        if (key_ == kMetadataKey) {
          if (has_metadata_) fail_format("header: __metadata__ is there twice");
          has_metadata_ = true;
          place_ = Place::kMetadata;
        } else {
          entry_ = {};
          entry_.name = key_;
          seen_[0] = seen_[1] = seen_[2] = false;
          place_ = Place::kEntry;
        }
        return true;
      default:
        return other_value("an object");
    }
  }
  bool end_object() override {
    switch (place_) {
      case Place::kEntry:
        for (const Field field : {Field::kDtype, Field::kShape, Field::kOffsets}) {
          if (!seen_[static_cast<int>(field)]) {
            fail_tensor(entry_.name, std::string("has no ") + name_of(field));
          }
        }
        tensors_.push_back(std::move(entry_));
        place_ = Place::kTop;
        return true;
      case Place::kMetadata:
        place_ = Place::kTop;
        return true;
      default:
        place_ = Place::kOutside;
        return true;
    }
  }
  bool key(string_t& key) override {
    switch (place_) {
      case Place::kMetadata:
        // Duplicates are looked for at the end, all at once.
        metadata_.emplace_back(std::move(key), std::string());
        return true;
      case Place::kEntry:
        for (const Field field : {Field::kDtype, Field::kShape, Field::kOffsets}) {
          if (key != name_of(field)) continue;
          bool& seen = seen_[static_cast<int>(field)];
          if (seen) fail_tensor(entry_.name, "has " + key + " twice");
          seen = true;
          field_ = field;
          return true;
        }
        fail_tensor(entry_.name, "has the unknown field " + in_quotes(key));
      default:
        key_ = std::move(key);
        return true;
    }
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || field_ == Field::kDtype) return other_value("an array");
    place_ = Place::kNumbers;
    return true;
  }
  bool end_array() override {
    place_ = Place::kEntry;
    if (field_ == Field::kOffsets) {
      if (offsets_.size() != 2) {
        fail_tensor(entry_.name, "data_offsets has " + std::to_string(offsets_.size()) +
                                     " numbers, needs begin and end");
      }
      entry_.begin = offsets_[0];
      entry_.end = offsets_[1];
      offsets_.clear();
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: what is wrong"
    std::string_view reason = error.what();
    if (const auto colon = reason.find(": "); colon != reason.npos) reason.remove_prefix(colon + 2);
    // It quotes what it has read last, which may be long and bad UTF-8.
    std::string text = in_quotes(reason);
    fail_format("header: no JSON at byte " + std::to_string(position) + ": " +
                text.substr(1, text.size() - 2));
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kEntry, kNumbers };
  enum class Field { kDtype, kShape, kOffsets };

  static const char* name_of(Field field) {
    switch (field) {
      case Field::kDtype:
        return "dtype";
      case Field::kShape:
        return "shape";
      default:
        return "data_offsets";
    }
  }

  bool is_number_expected() const { return place_ == Place::kNumbers; }
  std::vector<std::int64_t>& numbers() { return field_ == Field::kShape ? entry_.shape : offsets_; }
  [[noreturn]] void fail_number(const std::string& got, const char* kind) const {
    fail_tensor(entry_.name, std::string(name_of(field_)) + " holds " + got.substr(0, 40) +
                                 (got.size() > 40 ? "…, " : ", ") + kind);
  }
  /// A value where another kind of value belongs.
  bool other_value(const std::string& what) const {
    switch (place_) {
      case Place::kOutside:
        fail_format("header: is " + what + ", needs an object");
      case Place::kTop:
        if (key_ == kMetadataKey)
          fail_format("header: __metadata__ is " + what + ", needs an object");
        fail_tensor(key_, "is " + what + ", needs an object");
      case Place::kMetadata:
        fail_format("header: __metadata__ " + in_quotes(metadata_.back().first) + " is " + what +
                    ", needs a string");
      case Place::kEntry:
        fail_tensor(entry_.name,
                    std::string(name_of(field_)) + " is " + what + ", needs " +
                        (field_ == Field::kDtype ? "a string" : "an array of numbers"));
      default:
        fail_tensor(entry_.name,
                    std::string(name_of(field_)) + " holds " + what + ", needs whole numbers");
    }
  }

  std::vector<SafetensorsEntry>& tensors_;
  SafetensorsMetadata& metadata_;
  Place place_ = Place::kOutside;
  Field field_ = Field::kDtype;
  std::string key_;
  SafetensorsEntry entry_;
  std::vector<std::int64_t> offsets_;
  bool seen_[3] = {};
  bool has_metadata_ = false;
};

/// The bytes that a tensor's dtype and shape ask for.
std::int64_t bytes_of(const SafetensorsEntry& entry) {
  const auto* dtype = std::ranges::find(kDtypes, entry.dtype, &Dtype::name);
  if (dtype == std::end(kDtypes)) {
    fail_tensor(entry.name, "the dtype " + in_quotes(entry.dtype) + " is unknown");
  }
  std::int64_t bits = dtype->bits;
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bits, size, &bits)) {
      fail_tensor(entry.name, "the shape " + validation::to_string(entry.shape) +
                                  " has more elements than can be addressed");
    }
  }
  if (bits % 8 != 0) {
    fail_tensor(entry.name, std::to_string(bits) + " bits of " + entry.dtype + " with shape " +
                                validation::to_string(entry.shape) + " are no whole bytes");
  }
  return bits / 8;
}

/// Checks that the tensors, in the order of their bytes, fill the data without gaps.
void check_places(const std::vector<SafetensorsEntry>& tensors, std::int64_t data_size) {
  std::int64_t expected = 0;
  const SafetensorsEntry* previous = nullptr;
  for (const SafetensorsEntry& entry : tensors) {
    std::string place("[");
    place.append(std::to_string(entry.begin)).append(", ");
    place.append(std::to_string(entry.end)).append(")");
    if (entry.end < entry.begin) {
      fail_tensor(entry.name, "data_offsets " + place + " end before they begin");
    }
    if (entry.end > data_size) {
      fail_tensor(entry.name, "data_offsets " + place + " reach beyond the " +
                                  std::to_string(data_size) + " bytes of data");
    }
    const std::int64_t bytes = bytes_of(entry);
    if (entry.end - entry.begin != bytes) {
      fail_tensor(entry.name,
                  "data_offsets " + place + " span " + std::to_string(entry.end - entry.begin) +
                      " bytes, " + entry.dtype + " with shape " +
                      validation::to_string(entry.shape) + " needs " + std::to_string(bytes));
    }
    if (entry.begin < expected) {
      fail_tensor(entry.name, "data_offsets " + place + " overlap tensor " +
                                  in_quotes(previous->name) + ", which ends at " +
                                  std::to_string(expected));
    }
    if (entry.begin > expected) {
      fail_tensor(entry.name, "data_offsets " + place + " leave a gap: the data before ends at " +
                                  std::to_string(expected));
    }
    expected = entry.end;
    previous = &entry;
  }
  if (expected != data_size) {
    fail_format(std::to_string(data_size - expected) +
                " bytes at the end of the data belong to no tensor");
  }
}

void check_metadata(const SafetensorsMetadata& metadata) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : metadata) keys.push_back(key);
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    fail_format("header: __metadata__ has " + in_quotes(*twice) + " twice");
  }
}

std::uint64_t little_endian(const std::byte* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// The header's text; checks what comes before the JSON.
std::string_view header_of(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    fail_format("the file has " + std::to_string(bytes.size()) +
                " bytes, needs at least the 8 of the header's length");
  }
  const std::uint64_t length = little_endian(bytes.data(), kLengthBytes);
  if (length > kMaxHeader) {
    fail_format("header: its length " + std::to_string(length) + " is more than " +
                std::to_string(kMaxHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    fail_format("header: its length " + std::to_string(length) +
                " reaches beyond the file, which "
                "has " +
                std::to_string(bytes.size()) + " bytes");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                static_cast<std::size_t>(length));
  if (!header.starts_with('{')) fail_format("header: does not begin with {");
  // The parser takes a zero for the end of its input.
  if (const auto zero = header.find('\0'); zero != header.npos) {
    fail_format("header: no JSON at byte " + std::to_string(zero + 1) + ": a zero byte");
  }
  return header;
}

[[noreturn]] void fail_memory(const char* what) {
  fail(ErrorCode::kOutOfMemory,
       std::string("safetensors: memory for ") + what + " could not be had");
}

float from_f16(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {
    // Subnormal, a multiple of 2^-24, or zero.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

using Convert = float (*)(const std::byte*);

struct Readable {
  Convert convert;
  int bytes;
};

/// How a tensor's numbers become float32.
Readable readable(const SafetensorsEntry& entry) {
  if (entry.dtype == "F32") {
    return {[](const std::byte* p) {
              return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(p, 4)));
            },
            4};
  }
  if (entry.dtype == "F16") {
    return {[](const std::byte* p) {
              return from_f16(static_cast<std::uint32_t>(little_endian(p, 2)));
            },
            2};
  }
  if (entry.dtype == "BF16") {
    return {[](const std::byte* p) {
              return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(p, 2)) << 16);
            },
            2};
  }
  fail(ErrorCode::kUnsupported, "tensor " + in_quotes(entry.name) + ": got dtype " + entry.dtype +
                                    ", needs F32, F16 or BF16 to be read as float32");
}

/// Numbers one after the other, as float32, which F32 is already where memory is little-endian.
void convert_all(const std::byte* source, const Readable& kind, std::int64_t count, float* target) {
  if (kind.bytes == sizeof(float) && std::endian::native == std::endian::little) {
    if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) target[i] = kind.convert(source + i * kind.bytes);
}

void append_little_endian(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
}

std::int64_t count_of(const ConstTensor& view) {
  return validation::product("safetensors", view.shape());
}

void append_floats(std::vector<std::byte>& bytes, const ConstTensor& values) {
  const std::int64_t count = count_of(values);
  if (values.is_contiguous() && std::endian::native == std::endian::little) {
    const auto* first = reinterpret_cast<const std::byte*>(values.data());
    bytes.insert(bytes.end(), first, first + count * std::int64_t{sizeof(float)});
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    append_little_endian(bytes, std::bit_cast<std::uint32_t>(*element(values, i)), sizeof(float));
  }
}

/// A string as JSON.
std::string to_json(const char* what, const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail(ErrorCode::kInvalidArgument,
         std::string(what) + ": got " + in_quotes(text) + ", which is not UTF-8");
  }
}

/// The tensors sorted by name; checks them.
std::vector<const NamedTensor*> sorted(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> result;
  result.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kMetadataKey) {
      fail(ErrorCode::kInvalidArgument, "name: got \"__metadata__\", which no tensor can have");
    }
    validation::require_data(in_quotes(tensor.name).c_str(), tensor.values);
    result.push_back(&tensor);
  }
  std::ranges::sort(result, {}, &NamedTensor::name);
  const auto twice = std::ranges::adjacent_find(result, {}, &NamedTensor::name);
  if (twice != result.end()) {
    fail(ErrorCode::kInvalidArgument, "name: got " + in_quotes((*twice)->name) + " twice");
  }
  return result;
}

std::string header_for(const std::vector<const NamedTensor*>& tensors,
                       const SafetensorsMetadata& metadata, std::int64_t& data_size) {
  std::string header = "{";
  if (!metadata.empty()) {
    std::vector<std::string_view> keys;
    std::string separator = "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      header += separator + to_json("metadata", key) + ":" + to_json("metadata", value);
      separator = ",";
      keys.push_back(key);
    }
    header += "}";
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
      fail(ErrorCode::kInvalidArgument, "metadata: got " + in_quotes(*twice) + " twice");
    }
  }
  data_size = 0;
  for (const NamedTensor* tensor : tensors) {
    const std::int64_t bytes = count_of(tensor->values) * std::int64_t{sizeof(float)};
    if (header.size() > 1) header += ",";
    header += to_json("name", tensor->name) + ":{\"dtype\":\"F32\",\"shape\":[";
    for (int i = 0; i < tensor->values.rank(); ++i) {
      if (i > 0) header += ",";
      header += std::to_string(tensor->values.size(i));
    }
    header += "],\"data_offsets\":[" + std::to_string(data_size) + ",";
    if (__builtin_add_overflow(data_size, bytes, &data_size)) {
      fail(ErrorCode::kSizeOverflow, "safetensors: the tensors exceed the address space");
    }
    header += std::to_string(data_size) + "]}";
  }
  header += "}";
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxHeader) {
    fail(ErrorCode::kSizeOverflow, "safetensors: a header of " + std::to_string(header.size()) +
                                       " bytes is more than the format's " +
                                       std::to_string(kMaxHeader));
  }
  return header;
}

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail_file(const std::string& path, const char* what) {
  const std::string reason = std::generic_category().message(errno);
  fail(ErrorCode::kFileError, "path: " + in_quotes(path) + " could not be " + what + ": " + reason);
}

}  // namespace

Safetensors Safetensors::view(std::span<const std::byte> bytes) {
  try {
    const std::string_view header = header_of(bytes);
    Safetensors file;
    HeaderReader reader(file.tensors_, file.metadata_);
    json::sax_parse(header.begin(), header.end(), &reader);
    file.data_ = bytes.subspan(static_cast<std::size_t>(kLengthBytes) + header.size());

    std::ranges::sort(file.tensors_, {}, [](const SafetensorsEntry& entry) {
      return std::pair(entry.begin, entry.end);
    });
    file.by_name_.resize(file.tensors_.size());
    for (std::size_t i = 0; i < file.by_name_.size(); ++i) file.by_name_[i] = i;
    const auto name_of = [&](std::size_t i) -> const std::string& { return file.tensors_[i].name; };
    std::ranges::sort(file.by_name_, {}, name_of);
    if (const auto twice = std::ranges::adjacent_find(file.by_name_, {}, name_of);
        twice != file.by_name_.end()) {
      fail_tensor(name_of(*twice), "the name is there twice");
    }
    check_places(file.tensors_, static_cast<std::int64_t>(file.data_.size()));
    check_metadata(file.metadata_);
    return file;
  } catch (const std::bad_alloc&) {
    fail_memory("the header");
  } catch (const json::exception& error) {
    fail_format(std::string("header: no JSON: ") + error.what());
  }
}

Safetensors Safetensors::own(std::vector<std::byte> bytes) {
  Safetensors file = view(bytes);
  // Moving a vector leaves its elements where they are.
  file.owned_ = std::move(bytes);
  return file;
}

Safetensors Safetensors::load(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    fail(ErrorCode::kFileError,
         "path: " + in_quotes(path) + " could not be read: " + error.message());
  }
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_file(path, "opened");
  std::vector<std::byte> bytes;
  try {
    bytes.resize(validation::allocation("file", static_cast<std::int64_t>(size), 1));
  } catch (const std::bad_alloc&) {
    fail_memory("the file");
  }
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    fail_file(path, "read");
  }
  return own(std::move(bytes));
}

bool Safetensors::contains(std::string_view name) const noexcept {
  return std::ranges::binary_search(
      by_name_, name, {}, [&](std::size_t i) { return std::string_view(tensors_[i].name); });
}

const SafetensorsEntry& Safetensors::entry(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [&](std::size_t i) { return std::string_view(tensors_[i].name); });
  if (found == by_name_.end() || tensors_[*found].name != name) {
    fail(ErrorCode::kNotFound, "name: got " + in_quotes(name) + ", which is not in the file");
  }
  return tensors_[*found];
}

void Safetensors::require_readable(const SafetensorsEntry& entry) { readable(entry); }

void Safetensors::read(std::string_view name, const Tensor& output) const {
  const SafetensorsEntry& source = entry(name);
  const Readable kind = readable(source);
  if (!std::ranges::equal(output.shape(), source.shape)) {
    validation::fail_shape(
        "output", output.shape(),
        "shape " + validation::to_string(source.shape) + " of tensor " + in_quotes(name));
  }
  validation::require_data("output", output);
  const std::byte* first = data_.data() + source.begin;
  const std::int64_t count = (source.end - source.begin) / kind.bytes;
  if (output.is_contiguous()) return convert_all(first, kind, count, output.data());
  for (std::int64_t i = 0; i < count; ++i) {
    *element(output, i) = kind.convert(first + i * kind.bytes);
  }
}

std::vector<float> Safetensors::read(std::string_view name) const {
  const SafetensorsEntry& source = entry(name);
  const Readable kind = readable(source);
  const std::int64_t count = (source.end - source.begin) / kind.bytes;
  try {
    std::vector<float> values(validation::allocation("safetensors", count, sizeof(float)));
    convert_all(data_.data() + source.begin, kind, count, values.data());
    return values;
  } catch (const std::bad_alloc&) {
    fail_memory("a tensor");
  }
}

std::vector<std::byte> to_safetensors(std::span<const NamedTensor> tensors,
                                      const SafetensorsMetadata& metadata) {
  try {
    const std::vector<const NamedTensor*> order = sorted(tensors);
    std::int64_t data_size = 0;
    const std::string header = header_for(order, metadata, data_size);
    std::int64_t size = kLengthBytes + static_cast<std::int64_t>(header.size());
    if (__builtin_add_overflow(size, data_size, &size)) size = -1;
    std::vector<std::byte> bytes;
    bytes.reserve(validation::allocation("safetensors", size, 1));
    append_little_endian(bytes, header.size(), kLengthBytes);
    for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
    for (const NamedTensor* tensor : order) {
      append_floats(bytes, tensor->values);
    }
    return bytes;
  } catch (const std::bad_alloc&) {
    fail_memory("the file");
  }
}

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const SafetensorsMetadata& metadata) {
  const std::vector<std::byte> bytes = to_safetensors(tensors, metadata);
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) fail_file(path, "opened");
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    fail_file(path, "written");
  }
  // What is still buffered is written by closing, which may fail as well.
  if (std::fclose(file.release()) != 0) fail_file(path, "written");
}

}  // namespace attn
