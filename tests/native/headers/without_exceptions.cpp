// This file is compiled without exceptions. It includes every header and creates views with checks.

#include <attn/attn.hpp>
#include <vector>

attn::Tensor heads_of(std::vector<float>& values) {
  return attn::Tensor(values, {1, 2, 8}).split_heads(2);
}
