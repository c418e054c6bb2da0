#include "attn/version.hpp"

namespace attn {
namespace detail {

#ifdef _GLIBCXX_DEBUG
const char attn_must_be_compiled_with_GLIBCXX_DEBUG = 0;
#else
const char attn_must_be_compiled_without_GLIBCXX_DEBUG = 0;
#endif

}  // namespace detail

const char* version() noexcept { return ATTN_VERSION; }

}  // namespace attn
