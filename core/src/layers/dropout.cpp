#include "attn/layers/dropout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "elementwise.hpp"
#include "random_words.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {

void apply_dropout(const ConstTensor& x, const Tensor& output, const Dropout& dropout,
                   Context& context) {
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  validation::require_probability("dropout", dropout.probability);
  const ConstTensor from = x.rank() == 0 ? x.unsqueeze(0) : x;
  const Tensor to = x.rank() == 0 ? output.unsqueeze(0) : output;
  const bool drops = dropout.training && dropout.probability > 0;
  if (!drops && x.data() == output.data() && std::ranges::equal(from.strides(), to.strides())) {
    return;
  }
  // An integer w is below this threshold if and only if w·2^-24 < p. The product is exact.
  const auto threshold =
      static_cast<std::uint32_t>(std::ceil(static_cast<double>(dropout.probability) * 0x1p24));
  const float scale = dropout.probability < 1 ? 1 / (1 - dropout.probability) : 0.0F;
  validation::product("x", from.shape());

  const std::int64_t in_stride = from.stride(-1);
  const std::int64_t out_stride = to.stride(-1);

  runtime::Execution run(context);
  const auto drop_run = [&](std::int64_t first, std::int64_t size) noexcept {
    const float* const in = element(from, first);
    float* const out = element(to, first);
    if (!drops) {
      for (std::int64_t i = 0; i < size; ++i) out[i * out_stride] = in[i * in_stride];
      return;
    }
    const auto drop = [&](std::int64_t i, std::int64_t n, std::int64_t skip,
                          const std::uint32_t* words) noexcept {
      kernels::DropoutArgs args;
      args.count = n;
      args.words = words + skip;
      args.drop_below = threshold;
      args.factor = scale;
      args.x = in + i * in_stride;
      args.x_col = in_stride;
      args.out = out + i * out_stride;
      args.out_col = out_stride;
      run.kernels().dropout(args);
    };
    for_random_words(run.kernels(), dropout.random, first, size, drop);
  };
  for_all_row_runs(from.shape(), run, drop_run);
}

}  // namespace attn
