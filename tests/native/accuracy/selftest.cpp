// attn-selftest, which is installed with the library and is also a page for browsers. It checks
// every operation on every instruction set of the machine against a reference in double precision,
// and measures the speed of the machine and of a dozen operations. It prints one block of text that
// users can paste into a bug report.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accuracy/accuracy.hpp"
#include "attn/attn.hpp"
#include "machine_loops.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace {

using attn::Context;
using attn::OwnedTensor;

/// The name of the processor, or "unknown processor", as in browsers.
std::string processor() {
  std::string name;
#if defined(__x86_64__) || defined(__i386__)
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* const w = &words[4 * i];
    if (!__get_cpuid(0x80000002U + i, &w[0], &w[1], &w[2], &w[3])) break;
  }
  std::array<char, sizeof words + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof words);
  name = text.data();
#elif defined(__APPLE__)
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0);
  name = text.data();
#else
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; name.empty() && std::getline(lines, line);) {
    for (const char* key : {"model name", "uarch", "isa", "CPU part", "cpu"}) {
      const std::size_t colon = line.find(": ");
      if (line.starts_with(key) && colon != std::string::npos) name = line.substr(colon + 2);
    }
  }
#endif
  return name.empty() ? "unknown processor" : name;
}

/// The shortest time of a call, in seconds. Measures groups of calls that take at least 5 ms each,
/// because browsers round times to a tenth of a millisecond. Measures at least five groups, and for
/// at least a tenth of a second.
double seconds_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto group_of = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return since(start);
  };
  int calls = 1;
  double shortest = group_of(calls);
  while (shortest < 5e-3) shortest = group_of(calls *= 2);
  const auto begin = Clock::now();
  for (int groups = 1; groups < 5 || since(begin) < 0.1; ++groups) {
    shortest = std::min(shortest, group_of(calls));
  }
  return shortest / calls;
}

/// Prints how many operations are within their stated bounds. Returns true if all are.
bool check(attn::InstructionSet isa) {
  Context context({.num_threads = 1, .instruction_set = isa});
  std::vector<std::string> wrong;
  double largest_share = 0;
  for (const accuracy::Row& row : accuracy::rows()) {
    accuracy::Case result(context);
    row.measure(result);
    largest_share = std::max(largest_share, result.largest_share());
    if (!(result.largest_share() <= 1)) wrong.push_back(row.operation() + ", " + row.range());
  }
  const std::size_t total = accuracy::rows().size();
  std::printf(
      "%-12s %zu of %zu operations within their bounds, the largest error at %.0f %% of its "
      "bound\n",
      attn::to_string(isa), total - wrong.size(), total, 100 * largest_share);
  for (const std::string& name : wrong) std::printf("             WRONG: %s\n", name.c_str());
  return wrong.empty();
}

void measure_machine() {
#if defined(__EMSCRIPTEN__)
  std::vector<const attn_bench::MachineLoops*> all{attn_bench::wasm_loops()};
#else
  std::vector<const attn_bench::MachineLoops*> all{attn_bench::baseline_loops()};
#endif
#if defined(__x86_64__)
  all.insert(all.end(), {attn_bench::avx2_loops(), attn_bench::avx512_loops(),
                         attn_bench::avx512_bf16_loops()});
#endif
#if defined(ATTN_HAS_AMX)
  if (std::ranges::count(attn::supported_instruction_sets(), attn::InstructionSet::kAmxBf16)) {
    all.push_back(&attn_bench::amx_bf16_loops());
  }
#endif
  for (const attn_bench::MachineLoops* loops : all) {
    if (!loops) continue;
    constexpr std::int64_t kSteps = 100000;
    volatile float sum = 0;
    const double seconds = seconds_of([&] { sum = loops->multiply_add(kSteps, 1e-6F); });
    std::printf("multiply-adds, %-12s %10.1f GFLOP/s\n", loops->name,
                static_cast<double>(loops->step_operations * kSteps) / seconds * 1e-9);
  }
}

struct Operation {
  const char* name;
  std::function<void(Context&)> run;
};

OwnedTensor normals(std::initializer_list<std::int64_t> shape) {
  OwnedTensor x(shape);
  attn::fill_normal(x, {.seed = 1});
  return x;
}

std::vector<Operation> operations() {
  // Tensors that all operations share. Operations only overwrite results, never their inputs.
  struct Tensors {
    OwnedTensor heads = normals({1, 8, 256, 64}), output{{1, 8, 256, 64}};
    OwnedTensor log_sum_exp{{1, 8, 256}}, gradient = normals({1, 8, 256, 64});
    OwnedTensor dq{{1, 8, 256, 64}}, dk = dq, dv = dq;
    OwnedTensor token = normals({1, 8, 1, 64}), past = normals({1, 8, 4096, 64}), next = token;
    OwnedTensor matrix = normals({256, 512}), square = normals({512, 512}), rows = matrix;
    std::vector<attn::BFloat16> stored = std::vector<attn::BFloat16>(8 * 256 * 64);
    attn::LayerNorm norm{512};
    attn::RotaryEmbedding rotary{{.rotary_dim = 64}};
    attn::MultiHeadAttention layer{{.d_model = 512, .num_heads = 8}};
    attn::GRU gru{{.input_size = 512, .hidden_size = 512}};
  };
  const auto t = std::make_shared<Tensors>();
  std::transform(t->heads.values().begin(), t->heads.values().end(), t->stored.begin(),
                 [](float x) { return attn::BFloat16(x); });
  t->layer.initialize_xavier(1);
  t->gru.initialize_xavier(1);
  scaled_dot_product_attention(t->heads, t->heads, t->heads, t->output,
                               {.log_sum_exp = t->log_sum_exp});
  const attn::TensorView<attn::BFloat16> stored(t->stored.data(), {1, 8, 256, 64});
  return {
      {"matmul (256, 512) (512, 512)",
       [t](Context& c) { attn::matmul(t->matrix, t->square, t->rows, c); }},
      {"attention (8, 256, 64)",
       [t](Context& c) {
         scaled_dot_product_attention(t->heads, t->heads, t->heads, t->output, {}, c);
       }},
      {"attention (8, 256, 64), causal",
       [t](Context& c) {
         scaled_dot_product_attention(t->heads, t->heads, t->heads, t->output, {.causal = true}, c);
       }},
      {"attention (8, 256, 64), bfloat16",
       [t, stored](Context& c) {
         scaled_dot_product_attention(stored, stored, stored, t->output, {}, c);
       }},
      {"attention of 1 query, 4096 keys",
       [t](Context& c) {
         scaled_dot_product_attention(t->token, t->past, t->past, t->next, {}, c);
       }},
      {"attention backward (8, 256, 64)",
       [t](Context& c) {
         scaled_dot_product_attention_backward(
             t->heads, t->heads, t->heads, t->output, t->log_sum_exp, t->gradient,
             {.query = t->dq, .key = t->dk, .value = t->dv}, {}, c);
       }},
      {"masked softmax (256, 512)",
       [t](Context& c) { attn::masked_softmax(t->matrix, t->rows, {}, c); }},
      {"GELU (256, 512)",
       [t](Context& c) { apply_activation(t->matrix, t->rows, attn::Activation::kGelu, c); }},
      {"LayerNorm (256, 512)", [t](Context& c) { t->norm.forward(t->matrix, t->rows, c); }},
      {"rotary embedding (8, 256, 64)",
       [t](Context& c) { t->rotary.forward(t->heads, t->output, {}, c); }},
      {"sinusoidal encoding (256, 512)",
       [t](Context& c) { attn::sinusoidal_encoding(t->rows, {}, c); }},
      {"MultiHeadAttention (256, 512)",
       [t](Context& c) { t->layer.forward(t->matrix, t->matrix, t->matrix, t->rows, {}, c); }},
      {"GRU (256, 512)", [t](Context& c) { t->gru.forward(t->matrix, t->rows, {}, c); }},
  };
}

/// Prints a line for each operation and a column for each instruction set: times of one thread, in
/// microseconds. If there are several threads, the last column is the time of the default
/// instruction set with all threads.
void measure_operations() {
  std::printf("%-34s", "microseconds");
  std::vector<std::unique_ptr<Context>> contexts;
  for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
    contexts.push_back(
        std::make_unique<Context>(attn::ContextOptions{.num_threads = 1, .instruction_set = isa}));
    std::printf(" %11s", attn::to_string(isa));
  }
  if (const int threads = Context::default_context().num_threads(); threads > 1) {
    contexts.push_back(std::make_unique<Context>());
    std::printf("  %d threads", threads);
  }
  std::printf("\n");
  for (const Operation& operation : operations()) {
    std::printf("%-34s", operation.name);
    for (const std::unique_ptr<Context>& context : contexts) {
      std::printf(" %11.1f", 1e6 * seconds_of([&] { operation.run(*context); }));
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  try {
    std::printf("attn %s, %s, %s\n%s\n\n", attn::version(), ATTN_PLATFORM, ATTN_COMPILER,
                processor().c_str());
    bool all_within = true;
    for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
      all_within = check(isa) && all_within;
    }
    std::printf("\n");
    measure_machine();
    std::printf("\n");
    measure_operations();
    return all_within ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attn-selftest: %s\n", error.what());
    return 2;
  }
}
