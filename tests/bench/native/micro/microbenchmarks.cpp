// Micro-benchmarks of the kernels, for every instruction set of the machine, with the data in the
// caches. All except `threads` run on one thread.
//
//   npm run bench -- --micro -- --benchmark_filter=product
//
// `flops` counts a multiply-add as two operations. Compare it with machine/multiply_add.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/layers/linear.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "inputs.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/training/training_table.hpp"
#include "machine_loops.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/training_dispatch.hpp"

namespace {

using attn_bench::Floats;
using benchmark::Counter;
using benchmark::State;

void count_operations(State& state, double per_iteration) {
  state.counters["flops"] = Counter(per_iteration, Counter::kIsIterationInvariantRate);
}

void count_bytes(State& state, double per_iteration) {
  state.counters["bytes"] =
      Counter(per_iteration, Counter::kIsIterationInvariantRate, Counter::kIs1000);
}

void multiply_add(State& state, const attn_bench::MachineLoops& loops) {
  constexpr std::int64_t kSteps = 10000;
  for (auto _ : state) benchmark::DoNotOptimize(loops.multiply_add(kSteps, 0x1p-20F));
  count_operations(state, static_cast<double>(kSteps * loops.step_operations));
}

/// Times the product of one block of rows and one group of column panels.
void product(State& state, const attn::kernels::KernelTable& kernels) {
  const std::int64_t rows = kernels.product_rows;
  const std::int64_t cols = state.range(0);
  const std::int64_t depth = state.range(1);
  Floats a(rows * depth, 1), b(cols * depth, 2), c(rows * cols, 3);
  Floats packed(attn::kernels::packed_size(cols, depth));
  Floats scratch(kernels.product_scratch(depth));
  kernels.pack(cols, depth, b.data(), depth, 1, packed.data());
  attn::kernels::ProductArgs args;
  args.rows = rows;
  args.cols = cols;
  args.depth = depth;
  args.a = {a.data(), depth};
  args.packed_b = packed.data();
  args.c = {c.data(), cols};
  for (auto _ : state) {
    kernels.product(args, scratch.data());
    benchmark::ClobberMemory();
  }
  count_operations(state, 2.0 * static_cast<double>(rows * cols * depth));
}

void pack(State& state, const attn::kernels::KernelTable& kernels) {
  const std::int64_t cols = state.range(0);
  const std::int64_t depth = state.range(1);
  Floats b(cols * depth), packed(attn::kernels::packed_size(cols, depth));
  for (auto _ : state) {
    kernels.pack(cols, depth, b.data(), depth, 1, packed.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state, static_cast<double>(cols * depth * 4));
}

attn::Context make_context(attn::InstructionSet isa) {
  return attn::Context({.num_threads = 1, .instruction_set = isa});
}

/// Times a complete attention call for one head with `queries` queries.
void attend(State& state, attn::InstructionSet isa, std::int64_t queries) {
  attn::Context context = make_context(isa);
  const std::int64_t keys = state.range(0);
  const std::int64_t dim = state.range(1);
  Floats q(queries * dim, 1), k(keys * dim, 2), v(keys * dim, 3), out(queries * dim, 4);
  for (auto _ : state) {
    attn::scaled_dot_product_attention({q.data(), {queries, dim}}, {k.data(), {keys, dim}},
                                       {v.data(), {keys, dim}}, {out.data(), {queries, dim}}, {},
                                       context);
    benchmark::ClobberMemory();
  }
  if (queries == 1) {
    count_bytes(state, static_cast<double>(2 * keys * dim * 4));
  } else if (dim == 1) {
    // With heads of width 1, softmax takes almost all of the time.
    state.counters["scores"] =
        Counter(static_cast<double>(queries * keys), Counter::kIsIterationInvariantRate);
  } else {
    count_operations(state, 4.0 * static_cast<double>(queries * keys * dim));
  }
}

/// Times one query over 256 keys in 12 heads. The benchmark's argument is the number of threads.
/// `median` is the median time of single calls; on a busy machine, most of the mean is time spent
/// in other programs.
void decode(State& state, attn::InstructionSet isa) {
  attn::Context context({.num_threads = static_cast<int>(state.range(0)), .instruction_set = isa});
  constexpr std::int64_t heads = 12, keys = 256, dim = 64;
  Floats q(heads * dim, 1), k(heads * keys * dim, 2), v(heads * keys * dim, 3);
  Floats out(heads * dim, 4);
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    attn::scaled_dot_product_attention(
        {q.data(), {1, heads, 1, dim}}, {k.data(), {1, heads, keys, dim}},
        {v.data(), {1, heads, keys, dim}}, {out.data(), {1, heads, 1, dim}}, {}, context);
    benchmark::ClobberMemory();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  state.counters["median"] = Counter(*middle);
}

/// Like attend(), for bfloat16 tensors.
void attend_bf16(State& state, attn::InstructionSet isa, bool causal) {
  attn::Context context = make_context(isa);
  const std::int64_t length = state.range(0);
  const std::int64_t dim = state.range(1);
  const auto numbers = [&](unsigned seed) {
    Floats floats(length * dim, seed);
    return std::vector<attn::BFloat16>(floats.data(), floats.data() + length * dim);
  };
  const auto q = numbers(1), k = numbers(2), v = numbers(3);
  const auto view = [&](const std::vector<attn::BFloat16>& x) {
    return attn::TensorView<const attn::BFloat16>(x.data(), {length, dim});
  };
  Floats out(length * dim);
  for (auto _ : state) {
    attn::scaled_dot_product_attention(view(q), view(k), view(v),
                                       attn::Tensor(out.data(), {length, dim}), {.causal = causal},
                                       context);
    benchmark::ClobberMemory();
  }
  count_operations(state, (causal ? 2.0 : 4.0) * static_cast<double>(length * length * dim));
}

/// Times a linear layer with float32 activations and weights of `type`.
void linear(State& state, attn::InstructionSet isa, attn::ElementType type) {
  attn::Context context = make_context(isa);
  const std::int64_t rows = state.range(0);
  const std::int64_t in = state.range(1);
  const std::int64_t out = state.range(2);
  attn::Linear layer(in, out, true, type);
  layer.initialize_xavier(1, context);
  Floats x(rows * in), y(rows * out);
  for (auto _ : state) {
    layer.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, context);
    benchmark::ClobberMemory();
  }
  count_operations(state, 2.0 * static_cast<double>(rows * in * out));
}

void sinusoid(State& state, attn::InstructionSet isa) {
  attn::Context context = make_context(isa);
  const std::int64_t rows = state.range(0);
  const std::int64_t width = state.range(1);
  Floats out(rows * width);
  for (auto _ : state) {
    attn::sinusoidal_encoding({out.data(), {rows, width}}, {}, context);
    benchmark::ClobberMemory();
  }
  count_bytes(state, static_cast<double>(rows * width * 4));
}

/// Computes the loss and its gradient. Counts the bytes of the logits and the gradient.
void cross_entropy(State& state, const attn::kernels::TrainingTable& kernels) {
  attn::kernels::CrossEntropyArgs args;
  args.cols = state.range(0);
  args.rows = std::max<std::int64_t>(1, 4096 / args.cols);
  const std::int64_t count = args.rows * args.cols;
  Floats x(count), gradient(count), scratch(args.cols + kernels.padded_row(1));
  std::vector<std::int64_t> targets(static_cast<std::size_t>(args.rows), args.cols / 2);
  std::vector<double> losses(targets.size());
  args.x = {x.data(), args.cols};
  args.targets = targets.data();
  args.gradient = gradient.data();
  args.losses = losses.data();
  for (auto _ : state) {
    kernels.cross_entropy(args, scratch.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state, static_cast<double>(2 * count * 4));
}

/// Times one step of Adam. Counts the bytes that are read or written: the values and the two moving
/// averages count twice, the gradient once.
void adam(State& state, const attn::kernels::TrainingTable& kernels) {
  const std::int64_t count = state.range(0);
  Floats values(count), gradient(count), average(count), square_average(count);
  std::fill_n(square_average.data(), count, 1.0F);
  attn::kernels::AdamArgs args;
  args.count = count;
  args.values = values.data();
  args.gradient = gradient.data();
  args.average = average.data();
  args.square_average = square_average.data();
  args.average_rate = 0.1F;
  args.square_rate = 1e-3F;
  args.step_size = 1e-3F;
  args.root_factor = 1;
  args.epsilon = 1e-8F;
  args.value_decay = 1e-5F;
  for (auto _ : state) {
    kernels.adam(args);
    benchmark::ClobberMemory();
  }
  count_bytes(state, static_cast<double>(7 * count * 4));
}

void sum_of_squares(State& state, const attn::kernels::TrainingTable& kernels) {
  const std::int64_t count = state.range(0);
  Floats values(count);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels.sum_of_squares(count, values.data(), nullptr));
  }
  count_bytes(state, static_cast<double>(count * 4));
}

void register_all() {
  const attn_bench::MachineLoops* amx_loops = nullptr;
#if defined(ATTN_HAS_AMX)
  if (attn::runtime::find_bf16_kernels(attn::InstructionSet::kAmxBf16)) {
    amx_loops = &attn_bench::amx_bf16_loops();
  }
#endif
  const attn_bench::MachineLoops* const loops[] = {
      amx_loops,
#if defined(__x86_64__)
      attn_bench::avx512_bf16_loops(),
      attn_bench::avx512_loops(),
      attn_bench::avx2_loops(),
#endif
      attn_bench::baseline_loops(),
  };
  for (const attn_bench::MachineLoops* loop : loops) {
    if (!loop) continue;
    const std::string name = std::string("machine/multiply_add/") + loop->name;
    benchmark::RegisterBenchmark(name.c_str(), [loop](State& s) { multiply_add(s, *loop); });
  }
  for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
    const attn::kernels::KernelTable* kernels = attn::runtime::find_kernels(isa);
    const auto add = [&](const char* kernel, auto body) {
      const std::string name = std::string(kernel) + "/" + attn::to_string(isa);
      return benchmark::RegisterBenchmark(name.c_str(), body);
    };
    add("product", [=](State& s) { product(s, *kernels); })
        ->ArgNames({"cols", "depth"})
        ->Args({64, 64})
        ->Args({64, 256})
        ->Args({512, 512});
    add("pack", [=](State& s) { pack(s, *kernels); })
        ->ArgNames({"cols", "depth"})
        ->Args({512, 64})
        ->Args({512, 512});
    add("attention", [=](State& s) { attend(s, isa, s.range(0)); })
        ->ArgNames({"keys", "dim"})
        ->Args({512, 32})
        ->Args({512, 64})
        ->Args({512, 128})
        ->Args({2048, 64});
    for (const bool causal : {false, true}) {
      add(causal ? "attention_bf16_causal" : "attention_bf16",
          [=](State& s) { attend_bf16(s, isa, causal); })
          ->ArgNames({"length", "dim"})
          ->ArgsProduct({{512, 1024, 4096}, {64, 128}});
    }
    for (const auto type : {attn::ElementType::kFloat32, attn::ElementType::kBFloat16}) {
      add(type == attn::ElementType::kFloat32 ? "linear" : "linear_bf16",
          [=](State& s) { linear(s, isa, type); })
          ->ArgNames({"rows", "in", "out"})
          ->Args({512, 768, 768})
          ->Args({1, 768, 768});
    }
    add("softmax", [=](State& s) { attend(s, isa, 128); })
        ->ArgNames({"keys", "dim"})
        ->Args({1024, 1});
    add("single_query", [=](State& s) { attend(s, isa, 1); })
        ->ArgNames({"keys", "dim"})
        ->Args({512, 64})
        ->Args({2048, 64})
        ->Args({2048, 128});
    add("threads", [=](State& s) { decode(s, isa); })
        ->ArgName("count")
        ->UseRealTime()
        ->Arg(1)
        ->Arg(2)
        ->Arg(64);
    add("sinusoid", [=](State& s) { sinusoid(s, isa); })
        ->ArgNames({"rows", "width"})
        ->Args({64, 512})
        ->Args({1024, 512});

    const auto* training = attn::runtime::find_training_kernels(isa);
    add("cross_entropy", [=](State& s) { cross_entropy(s, *training); })
        ->ArgName("classes")
        ->Arg(65)
        ->Arg(1024)
        ->Arg(50257);
    add("adam", [=](State& s) { adam(s, *training); })->ArgName("count")->Arg(4096)->Arg(1 << 22);
    add("sum_of_squares", [=](State& s) { sum_of_squares(s, *training); })
        ->ArgName("count")
        ->Arg(8192);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
