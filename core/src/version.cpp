#include "attn/version.hpp"

namespace attn {

const char* version() noexcept { return ATTN_VERSION; }

}  // namespace attn
