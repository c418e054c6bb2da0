// Must not compile: the compiler's error is under test.

#include <attn/attn.hpp>
#include <vector>

void attend(const attn::Tensor& x, const attn::Tensor& output, const std::vector<bool>& mask) {
  attn::scaled_dot_product_attention(x, x, x, output, {.mask = {mask, {2, 2}}});
}
