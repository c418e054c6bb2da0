#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// Formats a name from a file for a message: escapes control characters and quotes, replaces
/// invalid UTF-8, and shortens the name to at most one line.
std::string in_quotes(std::string_view name);

std::uint64_t little_endian(const std::byte* bytes, int count);

/// Describes how a file stores the numbers of a tensor, and reads them.
struct StoredNumbers {
  int bytes;  ///< size of one number, in bytes
  /// Writes `count` numbers as float32. F64 is rounded to the nearest float; all other types are
  /// converted exactly.
  void (*read)(const std::byte* source, std::int64_t count, float* target);
};

/// Throws kUnsupported, with the tensor's name, for a dtype other than F32, F16, BF16 and F64.
StoredNumbers stored_numbers(std::string_view tensor, std::string_view dtype);

}  // namespace attn
