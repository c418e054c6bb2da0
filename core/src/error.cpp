#include "attn/error.hpp"

namespace attn {

Error::~Error() = default;

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kShapeMismatch:
      return "shape_mismatch";
    case ErrorCode::kSizeOverflow:
      return "size_overflow";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
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
