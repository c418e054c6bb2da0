#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "attn/export.hpp"

namespace attn {

/// Stable codes for the reasons why a call can fail. The numbers never change their meaning, and
/// new codes are added at the end.
enum class ErrorCode : int {
  kInvalidArgument = 1,  ///< A value outside its domain, e.g. a negative length.
  kShapeMismatch = 2,    ///< Ranks or sizes of tensors do not fit together.
  kSizeOverflow = 3,     ///< A product of sizes exceeds the address space.
  // 4 was the code for running out of memory. Functions now throw std::bad_alloc instead.
  kUnsupported = 5,    ///< Unsupported by attn, this build or this machine.
  kNotFound = 6,       ///< A name does not exist, e.g. the name of a parameter.
  kInvalidFormat = 7,  ///< Data violates its format, e.g. a truncated file.
  kFileError = 8,      ///< A file cannot be read or written.
};

/// The stable name of a code, e.g. "shape_mismatch".
ATTN_API const char* to_string(ErrorCode code) noexcept;

/// The exception that attn's public functions throw. Its message names the wrong argument, its
/// value or property, and the requirement: `key: got length 6, needs 5, the length of value`.
/// argument(), got() and needs() return the three parts. In programs, check the code, because the
/// wording may change. A call that throws has not written to its outputs.
///
/// Every function may throw two codes that its description does not always list: kSizeOverflow for
/// a tensor with more elements than can be addressed, and kInvalidArgument for a tensor that has
/// elements but a null data pointer. A function called without a context may also throw the same
/// errors as Context::default_context().
///
/// If memory runs out, functions throw std::bad_alloc, not an Error. The guarantees are the same as
/// for an Error: outputs, caches and layers are unchanged.
class ATTN_API Error : public std::runtime_error {
 public:
  /// The message becomes `argument: got …, needs …`.
  Error(ErrorCode code, std::string_view argument, std::string_view got, std::string_view needs);
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  // The destructor is defined in the library, so that there is only one type_info for this class.
  // Even programs compiled without RTTI can then catch it.
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }

  /// The name of the wrong argument, e.g. "valid_lens", or the name of a parameter, a file or a
  /// tensor in a file. Like what(), it is valid for as long as this error exists.
  std::string_view argument() const noexcept;
  /// The rejected value or property, e.g. "length 6".
  std::string_view got() const noexcept;
  /// The requirement, e.g. "5, the length of value".
  std::string_view needs() const noexcept;

 private:
  ErrorCode code_;
  // The lengths of the first two parts of what(); the rest is needs().
  std::size_t argument_size_;
  std::size_t got_size_;
};

}  // namespace attn
