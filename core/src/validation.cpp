#include "validation.hpp"

#include <cstdio>

namespace attn::validation {

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] < 0 ? "any" : std::to_string(shape[i]);
  }
  return text + ")";
}

void fail(ErrorCode code, const std::string& message) { throw Error(code, message); }

void fail_value(const char* name, double got, const std::string& needs) {
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", got);
  fail(ErrorCode::kInvalidArgument, std::string(name) + ": got " + number + ", needs " + needs);
}

void fail_shape(const char* name, std::span<const std::int64_t> got, const std::string& needs) {
  fail(ErrorCode::kShapeMismatch,
       std::string(name) + ": got shape " + to_string(got) + ", needs " + needs);
}

void require_at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) fail_value(name, value, std::to_string(least) + " or more");
}

void require_probability(const char* name, double value) {
  if (!(value >= 0 && value <= 1)) fail_value(name, value, "a probability between 0 and 1");
}

std::int64_t product(const char* name, std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(result, size, &result)) {
      fail(ErrorCode::kSizeOverflow, std::string(name) + ": the product of the sizes " +
                                         to_string(sizes) + " exceeds the address space");
    }
  }
  return result;
}

std::size_t allocation(const char* name, std::int64_t count, std::size_t bytes) {
  if (count < 0 || static_cast<std::uint64_t>(count) > PTRDIFF_MAX / bytes) {
    fail(ErrorCode::kSizeOverflow,
         std::string(name) + ": " + std::to_string(count) + " elements exceed the address space");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace attn::validation
