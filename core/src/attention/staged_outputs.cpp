#include "attention/staged_outputs.hpp"

#include <algorithm>
#include <cstdint>

#include "attention/attention_options.hpp"
#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Elements moved by one task.
constexpr std::int64_t kElementsPerTask = 8192;

/// Calls body(first, count) for runs of elements in one row, on all threads.
template <class F>
void for_all_rows(const ConstTensor& view, runtime::Execution& run, F&& body) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : view.shape()) count *= size;
  run.parallel_for(
      (count + kElementsPerTask - 1) / kElementsPerTask, [&](std::int64_t task, int) noexcept {
        const std::int64_t begin = task * kElementsPerTask;
        for_row_runs(view.size(-1), begin, std::min(begin + kElementsPerTask, count), body);
      });
}

}  // namespace

Tensor staged(const char* name, const Tensor& output, runtime::Execution& run) {
  if (output.is_none()) return {};
  validation::require_data(name, output);
  return Tensor(run.floats(validation::product(name, output.shape()), name), output.shape());
}

AttentionOptions staged(const AttentionOptions& options, runtime::Execution& run) {
  AttentionOptions result = options;
  for (const auto output : kFurtherOutputs) {
    result.*output = staged("attention output", options.*output, run);
  }
  return result;
}

void publish(const Tensor& from, const Tensor& output, runtime::Execution& run) noexcept {
  if (output.is_none()) return;
  const std::int64_t step = output.stride(-1);
  for_all_rows(from, run, [&](std::int64_t first, std::int64_t count) noexcept {
    const float* in = element(from, first);
    float* out = element(output, first);
    for (std::int64_t i = 0; i < count; ++i) out[i * step] = in[i];
  });
}

void publish(const AttentionOptions& from, const AttentionOptions& options,
             runtime::Execution& run) noexcept {
  for (const auto output : kFurtherOutputs) publish(from.*output, options.*output, run);
}

void add(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
         runtime::Execution& run) noexcept {
  for_all_rows(a, run, [&](std::int64_t first, std::int64_t count) noexcept {
    kernels::ElementwiseArgs args;
    args.rows = 1;
    args.cols = count;
    args.a = element(a, first);
    args.a_col = a.stride(-1);
    args.b = element(b, first);
    args.b_col = b.stride(-1);
    args.out = element(out, first);
    args.out_col = out.stride(-1);
    run.kernels().add(args);
  });
}

}  // namespace attn
