#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace attn_fuzz {

/// Turns the bytes of the fuzzer's input into a sequence of decisions. Once the bytes are used up,
/// every decision is 0.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T bits() {
    T value{};
    const std::size_t size = std::min(sizeof value, bytes_.size());
    if (size > 0) std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  /// Returns a number in [low, high]. The range contains at most 2^16 numbers.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    if (span <= 256) return low + static_cast<std::int64_t>(bits<std::uint8_t>() % span);
    return low + static_cast<std::int64_t>(bits<std::uint16_t>() % span);
  }

  /// Returns a size in [low, high]. Three out of four sizes are drawn from the lower third of the
  /// range, the others from the whole range. The range contains at most 64 numbers.
  std::int64_t size(std::int64_t low, std::int64_t high) {
    const std::int64_t byte = bits<std::uint8_t>(), span = high - low + 1;
    return low + byte / 4 % (byte % 4 == 3 ? span : span / 3);
  }

  /// Returns true in one of `n` cases; false when the input is used up.
  bool one_in(std::int64_t n) { return integer(0, n - 1) == n - 1; }

  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace attn_fuzz
