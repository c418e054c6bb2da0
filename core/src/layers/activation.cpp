#include "attn/layers/activation.hpp"

#include <algorithm>
#include <cstdint>

#include "row_runs.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Elements computed by one task, at most a row more.
constexpr std::int64_t kElementsPerTask = 8192;

auto kernel_of(Activation activation, const kernels::KernelTable& kernels) {
  switch (activation) {
    case Activation::kRelu:
      return kernels.relu;
    case Activation::kGelu:
      return kernels.gelu;
    case Activation::kGeluTanh:
      return kernels.gelu_tanh;
  }
  validation::fail_value("activation", static_cast<int>(activation), {"one that is defined"});
}

}  // namespace

void apply_activation(const ConstTensor& x, const Tensor& output, Activation activation,
                      Context& context) {
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  runtime::Execution run(context);
  const auto kernel = kernel_of(activation, run.kernels());
  const std::int64_t count = validation::product("x", x.shape());
  if (count == 0) return;
  const ConstTensor from = x.rank() == 0 ? x.unsqueeze(0) : x;
  const Tensor to = x.rank() == 0 ? output.unsqueeze(0) : output;
  const auto map_run = [&](std::int64_t first, std::int64_t size) noexcept {
    kernels::MapArgs args;
    args.rows = 1;
    args.cols = size;
    args.x = element(from, first);
    args.x_col = from.stride(-1);
    args.out = element(to, first);
    args.out_col = to.stride(-1);
    kernel(args);
  };
  run.parallel_for(
      (count + kElementsPerTask - 1) / kElementsPerTask, [&](std::int64_t task, int) noexcept {
        const std::int64_t begin = task * kElementsPerTask;
        for_row_runs(from.size(-1), begin, std::min(begin + kElementsPerTask, count), map_run);
      });
}

}  // namespace attn
