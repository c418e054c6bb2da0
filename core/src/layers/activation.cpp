#include "attn/layers/activation.hpp"

#include <algorithm>
#include <cstdint>

#include "elementwise.hpp"
#include "layers/activate.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
void apply_activation(const ConstTensor& x, const Tensor& output, Activation activation,
                      Context& context) {
  activate(x, {}, output, activation, context);
}

void activate(const ConstTensor& x, const ConstTensor& factor, const Tensor& output,
              Activation activation, Context& context) {
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  runtime::Execution run(context);
  const kernels::MapKernel kernel = run.kernels().activation(activation);
  if (!kernel) {
    validation::fail_value("activation", static_cast<int>(activation), {"an Activation"});
  }
  const std::int64_t count = validation::product("x", x.shape());
  if (count == 0) return;
  const ConstTensor from = x.rank() == 0 ? x.unsqueeze(0) : x;
  const Tensor to = x.rank() == 0 ? output.unsqueeze(0) : output;
  const ConstTensor times = x.rank() == 0 && !factor.is_none() ? factor.unsqueeze(0) : factor;
  const auto map_run = [&](std::int64_t first, std::int64_t size) noexcept {
    kernels::MapArgs args;
    args.rows = 1;
    args.cols = size;
    args.x = {element(from, first), 0, from.stride(-1)};
    if (!times.is_none()) args.factor = {element(times, first), 0, times.stride(-1)};
    args.out = {element(to, first), 0, to.stride(-1)};
    kernel(args);
  };
  for_all_row_runs(from.shape(), run, map_run);
}

}  // namespace attn
