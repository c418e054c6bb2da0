// This file must not compile. A test checks the compiler's error.

#include <attn/attn.hpp>
#include <vector>

void attend(const attn::Tensor& x, const attn::Tensor& output, const std::vector<bool>& mask) {
  attn::scaled_dot_product_attention(x, x, x, output, {.mask = {mask, {2, 2}}});
}
