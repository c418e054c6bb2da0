// Attention in a program with its own threads and memory layout. The context uses the program's
// threads. Views address queries, keys and values in place: all three are interleaved in one
// buffer, which is how a fused projection writes them.

#include <attn/attn.hpp>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

namespace {

/// Stands in for the program's thread pool by creating threads for each call.
void parallel_for(int count, const std::function<void(int)>& function) {
  std::vector<std::thread> threads;
  for (int i = 1; i < count; ++i) threads.emplace_back([&function, i] { function(i); });
  function(0);
  for (std::thread& thread : threads) thread.join();
}

void attend(const attn::ConstTensor& projections, const attn::Tensor& output, std::int64_t heads,
            attn::Context& context) {
  // Each view is (B, H, N, D) and copies nothing.
  const std::int64_t width = output.size(2);
  const attn::ConstTensor q = projections.slice(2, 0, width).split_heads(heads);
  const attn::ConstTensor k = projections.slice(2, width, 2 * width).split_heads(heads);
  const attn::ConstTensor v = projections.slice(2, 2 * width, 3 * width).split_heads(heads);
  attn::scaled_dot_product_attention(q, k, v, output.split_heads(heads), {}, context);
}

}  // namespace

int main() {
  const std::int64_t batch = 4, length = 100, heads = 4, dim = 32, width = heads * dim;

  // (B, N, 3·E): for each token, its query, key and value are adjacent.
  std::vector<float> memory(batch * length * 3 * width);
  const attn::Tensor projections(memory, {batch, length, 3 * width});
  attn::fill_normal(projections, {.seed = 2});

  attn::Context own({.num_threads = 3, .parallel_for = parallel_for});
  attn::OwnedTensor output({batch, length, width});
  attend(projections, output, heads, own);

  // The result is bit-identical on one thread, and also if each sequence has its own thread and
  // context.
  attn::Context one_thread({.num_threads = 1});
  attn::OwnedTensor expected(output.shape()), by_sequence(output.shape());
  attend(projections, expected, heads, one_thread);
  parallel_for(batch, [&](int b) {
    attn::Context context({.num_threads = 1});  // a real program keeps a context for each thread
    attend(projections.slice(0, b, b + 1), by_sequence.view().slice(0, b, b + 1), heads, context);
  });
  const bool same = output == expected && by_sequence == expected;
  std::puts(same ? "same bits" : "different bits");
  return same ? 0 : 1;
}
