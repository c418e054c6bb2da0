#include "attn/positions/sinusoidal_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "positions/sinusoidal_table.hpp"
#include "validation.hpp"

namespace attn {
namespace {

void require_output(const Tensor& output, const char* name = "output") {
  validation::require_shape(name, output, {-1, -1});
  if (output.size(1) < 1) validation::fail_value(name, "width 0", {"at least 1"});
  validation::require_data(name, output);
}

/// A column's exact frequency (turns per position), and the number by which float32 code divides
/// positions.
struct Float32Column {
  double turns;
  float divisor;
  bool cosine;
};

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
    validation::fail(ErrorCode::kShapeMismatch, "positions", {"length ", positions.size()},
                     {rows, ", the length of output"});
  }
  require_sinusoidal_base(options.base);
  for (const double position : positions) require_position("positions", position);

  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();
  const kernels::SinusoidColumns columns =
      make_sinusoid_columns(output.size(1), options.base, options.layout, run);
  constexpr std::int64_t kRows = kernels::kSinusoidRows;
  run.parallel_for(kernels::ceil_divide(rows, kRows), [&](std::int64_t block, int) noexcept {
    const std::int64_t begin = block * kRows;
    kernels.sinusoids(columns, positions.data() + begin, std::min(kRows, rows - begin),
                      output.data() + begin * output.stride(0), output.stride(0), output.stride(1));
  });
}

void sinusoidal_encoding_in_float32(const Tensor& encoding, const Tensor& error,
                                    const SinusoidalEncodingOptions& options, Context& context) {
  const Tensor& any = encoding.is_none() ? error : encoding;
  require_output(any, encoding.is_none() ? "error" : "encoding");
  if (!encoding.is_none() && !error.is_none()) {
    validation::require_same_shape("error", error, encoding);
    validation::require_data("error", error);
  }
  require_sinusoidal_base(options.base);
  const std::int64_t rows = any.size(0), width = any.size(1);
  require_sinusoidal_positions(rows, options);

  runtime::Execution run(context);
  const kernels::SinusoidColumns exact =
      make_sinusoid_columns(width, options.base, options.layout, run);
  auto* columns = run.take<Float32Column>(width, "sinusoidal columns");
  const bool interleaved = options.layout == SinusoidalLayout::kInterleaved;
  const std::int64_t sines = (width + 1) / 2;
  for (std::int64_t c = 0; c < width; ++c) {
    const std::int64_t j = interleaved ? c / 2 : c % sines;
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(width);
    // The power is computed in double precision, because float powers differ between systems.
    const double power = std::pow(double{static_cast<float>(options.base)}, double{exponent});
    columns[c] = {exact.frequency[c], static_cast<float>(power), exact.offset[c] != 0};
  }
  run.parallel_for(rows, [&](std::int64_t i, int) noexcept {
    const double position = options.start + static_cast<double>(i) * options.step;
    for (std::int64_t c = 0; c < width; ++c) {
      const double angle = static_cast<float>(position) / columns[c].divisor;
      const auto value = static_cast<float>(columns[c].cosine ? std::cos(angle) : std::sin(angle));
      if (!encoding.is_none()) encoding(i, c) = value;
      if (error.is_none()) continue;
      const Rotation rotation = rotation_of_turns(position * columns[c].turns);
      error(i, c) = static_cast<float>(value - (columns[c].cosine ? rotation.cos : rotation.sin));
    }
  });
}

}  // namespace attn
