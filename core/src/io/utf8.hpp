#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attn {

/// The first character of UTF-8 text and its length in bytes. A byte that is not part of valid
/// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF) counts as one
/// character, U+DC80 … U+DCFF, which valid text cannot contain.
struct DecodedCharacter {
  std::uint32_t code_point;
  std::size_t size;
};
DecodedCharacter decode_utf8(std::string_view text) noexcept;

}  // namespace attn
