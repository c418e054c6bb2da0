// Causal self-attention of 2 sequences with 8 heads.

#include <attn/attn.hpp>
#include <cstdio>

int main() {
  // (batch, heads, length, width of a head)
  attn::OwnedTensor q({2, 8, 512, 64}), k({2, 8, 512, 64}), v({2, 8, 512, 64});
  attn::fill_normal(q, {.seed = 1, .stream = 0});
  attn::fill_normal(k, {.seed = 1, .stream = 1});
  attn::fill_normal(v, {.seed = 1, .stream = 2});

  attn::OwnedTensor output(q.shape());
  attn::scaled_dot_product_attention(q, k, v, output, {.causal = true});

  // The first query attends only to the first key, so its output is the first value.
  const float value = v(0, 0, 0, 0), first = output(0, 0, 0, 0);
  std::printf("value %.6f, output %.6f\n", static_cast<double>(value), static_cast<double>(first));
  return first == value ? 0 : 1;
}
