#include "io/safetensors_numbers.hpp"

#include <bit>
#include <cstring>

#include "io/json.hpp"
#include "validation.hpp"

namespace attn {
namespace {

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

void read_f32(const std::byte* source, std::int64_t count, float* target) {
  if (std::endian::native == std::endian::little) {
    if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(source + 4 * i, 4)));
  }
}

std::uint32_t two_bytes(const std::byte* source) {
  return std::to_integer<std::uint32_t>(source[0]) | std::to_integer<std::uint32_t>(source[1]) << 8;
}

void read_f16(const std::byte* source, std::int64_t count, float* target) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = from_f16(two_bytes(source + 2 * i));
}

void read_bf16(const std::byte* source, std::int64_t count, float* target) {
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = std::bit_cast<float>(two_bytes(source + 2 * i) << 16);
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
  if (dtype == "F16") return {2, read_f16};
  if (dtype == "BF16") return {2, read_bf16};
  validation::fail(ErrorCode::kUnsupported, "tensor " + in_quotes(tensor), {"dtype ", dtype},
                   {"F32, F16 or BF16 to be read as float32"});
}

}  // namespace attn
