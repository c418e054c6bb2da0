// A WebAssembly module for tests/bench/page.js. It contains what the package does not export: the
// bare loops, and the dense product without a layer.

#include <emscripten/emscripten.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "attn/context.hpp"
#include "attn/layers/linear.hpp"
#include "machine_loops.hpp"

#define ATTN_BENCH_EXPORT extern "C" EMSCRIPTEN_KEEPALIVE

namespace {

std::unique_ptr<attn::Context> the_context;
std::optional<attn::Linear> the_layer;
std::vector<float> the_weight, the_input, the_output;
volatile float sink;

}  // namespace

ATTN_BENCH_EXPORT void bench_start(int num_threads) {
  the_context = std::make_unique<attn::Context>(attn::ContextOptions{.num_threads = num_threads});
}

/// Runs multiply-adds that amount to `operations` floating-point operations on each thread.
ATTN_BENCH_EXPORT void bench_multiply_adds(double operations, int num_threads) {
  const attn_bench::MachineLoops& loops = *attn_bench::wasm_loops();
  const auto steps = static_cast<std::int64_t>(operations) / loops.step_operations;
  const auto run = [&] { sink = loops.multiply_add(steps, 0x1p-20F); };
  std::vector<std::thread> threads;
  for (int t = 1; t < num_threads; ++t) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
}

/// Prepares a product of (rows × depth) · (columns × depth)ᵀ.
ATTN_BENCH_EXPORT void bench_make_product(int rows, int depth, int columns) {
  the_weight.resize(static_cast<std::size_t>(columns) * depth);
  the_input.resize(static_cast<std::size_t>(rows) * depth);
  the_output.resize(static_cast<std::size_t>(rows) * columns);
  the_layer.emplace(depth, columns, false);
}

ATTN_BENCH_EXPORT float* bench_product_weight() { return the_weight.data(); }
ATTN_BENCH_EXPORT float* bench_product_input() { return the_input.data(); }
ATTN_BENCH_EXPORT float* bench_product_output() { return the_output.data(); }

ATTN_BENCH_EXPORT void bench_pack_product() {
  const std::int64_t columns = the_layer->out_features();
  the_layer->set_parameter(
      "weight", attn::ConstTensor(the_weight.data(), {columns, the_layer->in_features()}));
}

ATTN_BENCH_EXPORT void bench_product() {
  const std::int64_t depth = the_layer->in_features();
  const std::int64_t columns = the_layer->out_features();
  const auto rows = static_cast<std::int64_t>(the_input.size()) / depth;
  the_layer->forward(attn::ConstTensor(the_input.data(), {rows, depth}),
                     attn::Tensor(the_output.data(), {rows, columns}), *the_context);
}
