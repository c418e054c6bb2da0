#include "attn/error.hpp"

#include <algorithm>
#include <string>

namespace attn {
namespace {

constexpr std::string_view kGot = ": got ";
constexpr std::string_view kNeeds = ", needs ";

std::string compose(std::string_view argument, std::string_view got, std::string_view needs) {
  std::string message;
  message.reserve(argument.size() + kGot.size() + got.size() + kNeeds.size() + needs.size());
  message.append(argument).append(kGot).append(got).append(kNeeds).append(needs);
  // what() is a C string, which ends at the first zero byte.
  std::ranges::replace(message, '\0', ' ');
  return message;
}

}  // namespace

Error::Error(ErrorCode code, std::string_view argument, std::string_view got,
             std::string_view needs)
    : std::runtime_error(compose(argument, got, needs)),
      code_(code),
      argument_size_(argument.size()),
      got_size_(got.size()) {}

Error::~Error() = default;

std::string_view Error::argument() const noexcept { return {what(), argument_size_}; }

std::string_view Error::got() const noexcept {
  return {what() + argument_size_ + kGot.size(), got_size_};
}

std::string_view Error::needs() const noexcept { return got().data() + got_size_ + kNeeds.size(); }

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kShapeMismatch:
      return "shape_mismatch";
    case ErrorCode::kSizeOverflow:
      return "size_overflow";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kInvalidFormat:
      return "invalid_format";
    case ErrorCode::kFileError:
      return "file_error";
  }
  return "unknown";
}

}  // namespace attn
