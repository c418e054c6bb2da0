#include "io/utf8.hpp"

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

}  // namespace attn
