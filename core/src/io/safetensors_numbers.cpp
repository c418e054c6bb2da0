#include "io/safetensors_numbers.hpp"

#include <bit>
#include <cstring>

#include "attn/element_type.hpp"
#include "io/json.hpp"
#include "validation.hpp"

namespace attn {
namespace {

void read_f32(const std::byte* source, std::int64_t count, float* target) {
  if (std::endian::native == std::endian::little) {
    if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(source + 4 * i, 4)));
  }
}

template <class T>
void read_short(const std::byte* source, std::int64_t count, float* target) {
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = T::from_bits(static_cast<std::uint16_t>(little_endian(source + 2 * i, 2)));
  }
}

void read_f64(const std::byte* source, std::int64_t count, float* target) {
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = static_cast<float>(std::bit_cast<double>(little_endian(source + 8 * i, 8)));
  }
}

}  // namespace

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  std::string text = to_json(name.substr(0, kLongest));
  if (name.size() > kLongest) text.insert(text.size() - 1, "…");
  return text;
}

std::uint64_t little_endian(const std::byte* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

StoredNumbers stored_numbers(std::string_view tensor, std::string_view dtype) {
  if (dtype == "F32") return {4, read_f32};
  if (dtype == "F16") return {2, read_short<Float16>};
  if (dtype == "BF16") return {2, read_short<BFloat16>};
  if (dtype == "F64") return {8, read_f64};
  validation::fail(ErrorCode::kUnsupported, "tensor " + in_quotes(tensor), {"dtype ", dtype},
                   {"F32, F16, BF16 or F64 to be read as float32"});
}

}  // namespace attn
