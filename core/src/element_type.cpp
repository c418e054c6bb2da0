#include "attn/element_type.hpp"

namespace attn {

const char* to_string(ElementType type) noexcept {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBFloat16:
      return "bfloat16";
    case ElementType::kInt8:
      return "int8";
  }
  return "unknown";
}

}  // namespace attn
