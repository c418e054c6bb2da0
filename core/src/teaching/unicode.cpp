#include "teaching/unicode.hpp"

namespace attn {

DecodedCharacter decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const DecodedCharacter invalid{0xDC00 + lead, 1};
  std::size_t size = 0;
  std::uint32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
    code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    code_point = lead & 0x0F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    code_point = lead & 0x07;
  } else {
    return invalid;
  }
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = code_point < (size == 3 ? 0x800U : size == 4 ? 0x10000U : 0x80U);
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (overlong || surrogate || code_point > 0x10FFFF) return invalid;
  return {code_point, size};
}

namespace {

/// Capitals first … last, every `stride`-th code point, whose small letters lie `distance` on.
struct Capitals {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t stride;
  std::int32_t distance;
};

/// From UnicodeData.txt, field Simple_Lowercase_Mapping.
constexpr Capitals kCapitals[] = {
    {0x0041, 0x005A, 1, 32},     // A … Z
    {0x00C0, 0x00D6, 1, 32},     // À … Ö
    {0x00D8, 0x00DE, 1, 32},     // Ø … Þ
    {0x0100, 0x012E, 2, 1},      // Ā … Į
    {0x0130, 0x0130, 1, -199},   // İ → i
    {0x0132, 0x0136, 2, 1},      // Ĳ … Ķ
    {0x0139, 0x0147, 2, 1},      // Ĺ … Ň
    {0x014A, 0x0176, 2, 1},      // Ŋ … Ŷ
    {0x0178, 0x0178, 1, -121},   // Ÿ → ÿ
    {0x0179, 0x017D, 2, 1},      // Ź … Ž
    {0x0386, 0x0386, 1, 38},     // Ά
    {0x0388, 0x038A, 1, 37},     // Έ … Ί
    {0x038C, 0x038C, 1, 64},     // Ό
    {0x038E, 0x038F, 1, 63},     // Ύ, Ώ
    {0x0391, 0x03A1, 1, 32},     // Α … Ρ
    {0x03A3, 0x03AB, 1, 32},     // Σ … Ϋ
    {0x0400, 0x040F, 1, 80},     // Ѐ … Џ
    {0x0410, 0x042F, 1, 32},     // А … Я
    {0x0460, 0x0480, 2, 1},      // Ѡ … Ҁ
    {0x048A, 0x04BE, 2, 1},      // Ҋ … Ҿ
    {0x04C0, 0x04C0, 1, 15},     // Ӏ
    {0x04C1, 0x04CD, 2, 1},      // Ӂ … Ӎ
    {0x04D0, 0x052E, 2, 1},      // Ӑ … Ԯ
    {0x0531, 0x0556, 1, 48},     // Ա … Ֆ
    {0x1E00, 0x1E94, 2, 1},      // Ḁ … Ẕ
    {0x1E9E, 0x1E9E, 1, -7615},  // ẞ → ß
    {0x1EA0, 0x1EFE, 2, 1},      // Ạ … Ỿ
};

}  // namespace

std::uint32_t to_lower(std::uint32_t code_point) noexcept {
  for (const Capitals& range : kCapitals) {
    if (code_point < range.first) break;
    if (code_point <= range.last && (code_point - range.first) % range.stride == 0) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(code_point) + range.distance);
    }
  }
  return code_point;
}

}  // namespace attn
