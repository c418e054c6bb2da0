// Causal self-attention of 2 sequences with 8 heads, straight from vectors in memory.

#include <attn/attn.hpp>
#include <cstdio>
#include <vector>

int main() {
  const std::int64_t batch = 2, heads = 8, length = 512, dim = 64;
  std::vector<float> q(batch * heads * length * dim), k(q), v(q), output(q.size());
  const auto view = [&](auto& x) { return attn::Tensor(x.data(), {batch, heads, length, dim}); };

  attn::fill_normal(view(q), {.seed = 1, .stream = 0});
  attn::fill_normal(view(k), {.seed = 1, .stream = 1});
  attn::fill_normal(view(v), {.seed = 1, .stream = 2});
  attn::scaled_dot_product_attention(view(q), view(k), view(v), view(output),
                                     {.causal = attn::Diagonal::top_left()});

  // The first query sees the first key alone, so its output is the first value.
  std::printf("value %.6f, output %.6f\n", static_cast<double>(v[0]),
              static_cast<double>(output[0]));
  return output[0] == v[0] ? 0 : 1;
}
