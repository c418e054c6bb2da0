#include "attn/positions/positional_encoding.hpp"

#include <cstdint>

#include "positions/sinusoidal_table.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {

PositionalEncoding::PositionalEncoding(const PositionalEncodingOptions& options)
    : options_(options) {
  require_sinusoidal_base(options.base);
}

void PositionalEncoding::forward(const ConstTensor& x, const Tensor& output, double start,
                                 const Dropout& dropout, Context& context) const {
  if (x.rank() != 2 && x.rank() != 3) {
    validation::fail_shape("x", x.shape(), {"rank 2 (N, E) or 3 (B, N, E)"});
  }
  validation::require_data("x", x);
  validation::require_same_shape("output", output, x);
  validation::require_data("output", output);
  if (x.size(-1) < 1) validation::fail_value("x", "width 0", {"at least 1"});
  validation::require_probability("dropout", dropout.probability);
  const ConstTensor from = x.rank() == 2 ? x.unsqueeze(0) : x;
  const Tensor to = output.rank() == 2 ? output.unsqueeze(0) : output;
  const std::int64_t width = from.size(2);

  {
    runtime::Execution run(context);
    const SinusoidalTable table(from.size(1), width,
                                {.base = options_.base, .start = start, .layout = options_.layout},
                                run);
    const std::int64_t block_size = validation::product("x", {kernels::kSinusoidRows, width});
    float* blocks = run.floats(validation::product("x", {block_size, run.num_threads()}),
                               "positional encoding");
    run.parallel_for(table.num_blocks(), [&](std::int64_t block, int worker) noexcept {
      const std::int64_t row = table.begin(block);
      float* encoding = blocks + worker * block_size;
      table.write(block, encoding, width, 1);
      for (std::int64_t b = 0; b < from.size(0); ++b) {
        kernels::ElementwiseArgs args;
        args.rows = table.end(block) - row;
        args.cols = width;
        args.a = rows_at(from, b, row);
        args.b = {encoding, width};
        args.out = rows_at(to, b, row);
        run.kernels().add(args);
      }
    });
  }
  if (dropout.training) apply_dropout(output, output, dropout, context);
}

}  // namespace attn
