// Attention inside a program that has its own threads and its own memory layout: every thread works
// in a context of its own, and views address queries, keys and values where they lie, interleaved
// in one buffer, as a fused projection leaves them.

#include <attn/attn.hpp>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  const std::int64_t batch = 4, length = 100, heads = 4, dim = 32, width = heads * dim;

  // (B, N, 3·E): for each token its query, key and value one after the other.
  std::vector<float> projections(batch * length * 3 * width);
  attn::fill_normal(attn::Tensor(projections.data(), {batch, length, 3 * width}), {.seed = 2});
  const attn::ConstTensor qkv(projections.data(), {batch, length, 3 * width});
  const auto part = [&](int i) {
    return qkv.slice(2, i * width, (i + 1) * width).split_heads(heads);  // (B, H, N, D), no copy
  };
  std::vector<float> result(batch * length * width);
  const attn::Tensor output =
      attn::Tensor(result.data(), {batch, length, width}).split_heads(heads);

  const auto attend = [&](std::int64_t begin, std::int64_t end, const attn::Tensor& to,
                          attn::Context& context) {
    const auto rows = [&](auto view) { return view.slice(0, begin, end); };
    attn::scaled_dot_product_attention(rows(part(0)), rows(part(1)), rows(part(2)), rows(to), {},
                                       context);
  };

  std::vector<std::thread> threads;
  for (std::int64_t b = 0; b < batch; ++b) {
    threads.emplace_back([&, b] {
      attn::Context context({.num_threads = 1});  // a real program keeps it as long as the thread
      attend(b, b + 1, output, context);
    });
  }
  for (std::thread& thread : threads) thread.join();

  // The same bits as the whole batch on a context with threads of its own.
  std::vector<float> whole(result.size());
  attn::Context context({.num_threads = 2});
  attend(0, batch, attn::Tensor(whole.data(), {batch, length, width}).split_heads(heads), context);
  std::puts(whole == result ? "same bits" : "different bits");
  return whole == result ? 0 : 1;
}
