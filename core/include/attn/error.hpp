#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "attn/export.hpp"

namespace attn {

/// Stable reasons of failure. The numbers never change meaning; new ones are added at the end.
enum class ErrorCode : int {
  kInvalidArgument = 1,  ///< A value outside its domain, e.g. a negative length.
  kShapeMismatch = 2,    ///< Ranks or sizes of tensors do not fit together.
  kSizeOverflow = 3,     ///< A product of sizes does not fit into the address space.
  // 4 was for memory that runs out, which is std::bad_alloc.
  kUnsupported = 5,    ///< This build or machine cannot do it, e.g. an instruction set it lacks.
  kNotFound = 6,       ///< A name, e.g. of a parameter, that does not exist.
  kInvalidFormat = 7,  ///< Data that is not what its format says, e.g. a truncated file.
  kFileError = 8,      ///< A file that cannot be read or written.
};

/// The stable name of a code, e.g. "shape_mismatch".
ATTN_API const char* to_string(ErrorCode code) noexcept;

/// What every attn function throws at the public boundary. The message says which argument is
/// wrong, what it got and what it needs: `key: got length 6, needs 5, the length of value`. The
/// three are there one by one, too. Programs decide by the code, as the words may change. A call
/// that throws has not written to its outputs.
///
/// Beside the codes that a function lists, any may throw kSizeOverflow for a tensor with more
/// elements than can be addressed, kInvalidArgument for null data where there are elements, and,
/// called without a context, what Context::default_context() does.
///
/// Where memory runs out, every function throws std::bad_alloc instead, and nothing but it. What is
/// promised of an Error holds then, too: outputs, caches and layers are as they were.
class ATTN_API Error : public std::runtime_error {
 public:
  /// The message becomes `argument: got …, needs …`.
  Error(ErrorCode code, std::string_view argument, std::string_view got, std::string_view needs);
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  // In the library, and with it the type's identity: programs compiled without RTTI catch it too.
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }

  /// The argument that is wrong, e.g. "valid_lens"; or else the parameter, the file or the tensor
  /// in it. Valid as long as this error, as what() is.
  std::string_view argument() const noexcept;
  /// What the argument got, e.g. "length 6".
  std::string_view got() const noexcept;
  /// What it needs, e.g. "5, the length of value".
  std::string_view needs() const noexcept;

 private:
  ErrorCode code_;
  // Both are parts of what(); what is needed is its end.
  std::size_t argument_size_;
  std::size_t got_size_;
};

}  // namespace attn
