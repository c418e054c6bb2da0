#include "attn/teaching/shift_matrix.hpp"

#include <algorithm>
#include <cstdint>

#include "positions/sinusoidal_table.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Number of rows that one task rotates.
constexpr std::int64_t kShiftedRowsPerTask = 64;

void require_shift(const char* name, std::int64_t width, double delta,
                   const ShiftOptions& options) {
  if (width < 2 || width % 2 != 0) {
    validation::fail(ErrorCode::kShapeMismatch, name, {"width ", width},
                     {"an even width, because the last sine of an odd width has no cosine and "
                      "cannot be shifted alone"});
  }
  require_sinusoidal_base(options.base);
  require_position("delta", delta);
}

/// Column c of a shifted row is keep[c] times the original column c plus cross[c] times the other
/// column of its pair.
struct Shift {
  const float* keep;
  const float* cross;
};

Shift make_shift(std::int64_t width, double delta, const ShiftOptions& options,
                 runtime::Execution& run) {
  const kernels::SinusoidColumns columns =
      make_sinusoid_columns(width, options.base, options.layout, run);
  float* keep = run.floats(width, "shift");
  float* cross = run.floats(width, "shift");
  for (std::int64_t c = 0; c < width; ++c) {
    const Rotation rotation = rotation_of_turns(delta * columns.frequency[c]);
    const bool is_sine = columns.offset[c] == 0;
    keep[c] = static_cast<float>(rotation.cos);
    cross[c] = static_cast<float>(is_sine ? rotation.sin : 0.0 - rotation.sin);
  }
  return {keep, cross};
}

}  // namespace

void shift_matrix(const Tensor& output, double delta, const ShiftOptions& options,
                  Context& context) {
  validation::require_shape("output", output, {-1, -1});
  const std::int64_t width = output.size(1);
  validation::require_shape("output", output, {width, width});
  validation::require_data("output", output);
  require_shift("output", width, delta, options);
  runtime::Execution run(context);
  const Shift shift = make_shift(width, delta, options, run);
  const bool interleaved = options.layout == SinusoidalLayout::kInterleaved;
  for (std::int64_t r = 0; r < width; ++r) {
    for (std::int64_t c = 0; c < width; ++c) output(r, c) = 0.0F;
    const std::int64_t partner = interleaved ? r ^ 1 : (r + width / 2) % width;
    output(r, r) = shift.keep[r];
    output(r, partner) = shift.cross[r];
  }
}

void apply_shift(const ConstTensor& encoding, double delta, const Tensor& output,
                 const ShiftOptions& options, Context& context) {
  if (encoding.rank() != 2 && encoding.rank() != 3) {
    validation::fail_shape("encoding", encoding.shape(), {"rank 2 (N, d) or 3 (B, N, d)"});
  }
  validation::require_data("encoding", encoding);
  validation::require_same_shape("output", output, encoding);
  validation::require_data("output", output);
  require_shift("encoding", encoding.size(-1), delta, options);
  const ConstTensor x = encoding.rank() == 2 ? encoding.unsqueeze(0) : encoding;
  const Tensor out = output.rank() == 2 ? output.unsqueeze(0) : output;

  runtime::Execution run(context);
  const Shift shift = make_shift(x.size(2), delta, options, run);
  const std::int64_t rows = x.size(1);
  const std::int64_t blocks = (rows + kShiftedRowsPerTask - 1) / kShiftedRowsPerTask;
  run.parallel_for(x.size(0) * blocks, [&](std::int64_t task, int) noexcept {
    const std::int64_t b = task / blocks;
    const std::int64_t row = task % blocks * kShiftedRowsPerTask;
    kernels::RotationArgs args;
    args.rows = std::min(kShiftedRowsPerTask, rows - row);
    args.cols = x.size(2);
    args.interleaved = options.layout == SinusoidalLayout::kInterleaved;
    args.keep = shift.keep;
    args.cross = shift.cross;
    args.x = rows_at(x, b, row);
    args.out = rows_at(out, b, row);
    run.kernels().rotate_pairs(args);
  });
}

}  // namespace attn
