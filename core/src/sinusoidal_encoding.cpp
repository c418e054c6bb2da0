#include "attn/sinusoidal_encoding.hpp"

#include <algorithm>
#include <string>

#include "sinusoidal_table.hpp"
#include "validation.hpp"

namespace attn {
namespace {

void require_output(const Tensor& output) {
  validation::require_shape("output", output, {-1, -1});
  validation::require_at_least("output width", output.size(1), 1);
  validation::require_data("output", output);
}

}  // namespace

void sinusoidal_encoding(const Tensor& output, const SinusoidalEncodingOptions& options,
                         Context& context) {
  require_output(output);
  runtime::Execution run(context);
  const SinusoidalTable table(output.size(0), output.size(1), options, run);
  run.parallel_for(table.num_blocks(), [&](std::int64_t block, int) noexcept {
    table.write(block, output.data() + table.begin(block) * output.stride(0), output.stride(0),
                output.stride(1));
  });
}

void sinusoidal_encoding_at(std::span<const double> positions, const Tensor& output,
                            const SinusoidalPositionsOptions& options, Context& context) {
  require_output(output);
  const std::int64_t rows = output.size(0);
  if (rows != static_cast<std::int64_t>(positions.size())) {
    validation::fail(ErrorCode::kShapeMismatch,
                     "positions: length " + std::to_string(positions.size()) +
                         " does not match output length " + std::to_string(rows));
  }
  require_sinusoidal_base(options.base);
  for (const double position : positions) require_position("positions", position);

  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();
  const kernels::SinusoidColumns columns =
      make_sinusoid_columns(output.size(1), options.base, options.layout, run);
  constexpr std::int64_t kRows = kernels::kSinusoidRows;
  run.parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t block, int) noexcept {
    const std::int64_t begin = block * kRows;
    kernels.sinusoids(columns, positions.data() + begin, std::min(kRows, rows - begin),
                      output.data() + begin * output.stride(0), output.stride(0), output.stride(1));
  });
}

}  // namespace attn
