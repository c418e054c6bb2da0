#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attn_test {

using Bytes = std::vector<std::byte>;

/// A file that consists of the length of `header`, `header` itself and `data_size` bytes of data.
inline Bytes safetensors_file(std::string_view header, std::size_t data_size = 0) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<std::byte>(std::uint64_t{header.size()} >> 8 * i & 0xFF));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t i = 0; i < data_size; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

/// A file whose data consists of 16-bit or 32-bit words.
template <class Word>
Bytes safetensors_file_of(std::string_view header, const std::vector<Word>& words) {
  Bytes bytes = safetensors_file(header);
  for (const Word word : words) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      bytes.push_back(static_cast<std::byte>(word >> 8 * i & 0xFF));
    }
  }
  return bytes;
}

}  // namespace attn_test
