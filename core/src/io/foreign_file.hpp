#pragma once

#include <string_view>

namespace attn {

/// A kind of file that people pass instead of .safetensors or JSON.
struct ForeignFile {
  std::string_view kind;    ///< "a Git LFS pointer"
  std::string_view remedy;  ///< what to pass instead
};

/// Recognizes a file by its beginning, which must have at least eight bytes. Returns null if the
/// file is none of these kinds.
const ForeignFile* recognize_foreign_file(std::string_view beginning) noexcept;

}  // namespace attn
