#include "positions/sinusoidal_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "validation.hpp"

namespace attn {
namespace {

constexpr double kLargestPosition = 9007199254740992.0;  // 2^53

/// The longest step for which rows are computed by rotation. With longer steps, a block would
/// extend far beyond the requested positions, which would cost accuracy.
constexpr double kLongestRotatedStep = 131072.0;  // 2^17

}  // namespace

void require_sinusoidal_base(double base) {
  // The lower bound ensures that the product of the largest frequency, 1/base, and 2^53 is finite.
  if (!(base >= 1e-100) || !std::isfinite(base)) {
    validation::fail_value("base", base, {"a finite number of at least 1e-100"});
  }
}

void require_position(const char* name, double position, const char* what) {
  if (!(std::fabs(position) <= kLargestPosition)) {
    validation::fail(ErrorCode::kInvalidArgument, name, {what, position},
                     {"a position between -2^53 and 2^53"});
  }
}

void require_sinusoidal_positions(std::int64_t rows, const SinusoidalEncodingOptions& options) {
  require_position("start", options.start);
  require_position("step", options.step);
  require_position(
      "start + (length - 1) * step",
      options.start + static_cast<double>(std::max<std::int64_t>(rows - 1, 0)) * options.step);
}

kernels::SinusoidColumns make_sinusoid_columns(std::int64_t width, double base,
                                               SinusoidalLayout layout, runtime::Execution& run) {
  const std::int64_t padded = width + kernels::kPanelWidth;
  auto* frequency = run.take<double>(padded, "sinusoidal columns");
  auto* offset = run.take<double>(padded, "sinusoidal columns");
  std::fill(frequency + width, frequency + padded, 0.0);
  std::fill(offset + width, offset + padded, 0.0);
  const std::int64_t sines = (width + 1) / 2;
  const bool interleaved = layout == SinusoidalLayout::kInterleaved;
  for (std::int64_t j = 0; j < sines; ++j) {
    const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(width);
    const double turns = std::pow(base, exponent) / (2 * std::numbers::pi);
    const std::int64_t sine = interleaved ? 2 * j : j;
    const std::int64_t cosine = interleaved ? 2 * j + 1 : sines + j;
    frequency[sine] = turns;
    offset[sine] = 0;
    if (cosine >= width) continue;
    frequency[cosine] = turns;
    offset[cosine] = 0.25;
  }
  kernels::SinusoidColumns columns;
  columns.count = width;
  columns.frequency = frequency;
  columns.offset = offset;
  return columns;
}

Rotation rotation_of_turns(double turns) noexcept {
  const double angle = 2 * std::numbers::pi * (turns - std::nearbyint(turns));
  return {std::cos(angle), std::sin(angle)};
}

SinusoidalTable::SinusoidalTable(std::int64_t rows, std::int64_t width,
                                 const SinusoidalEncodingOptions& options, runtime::Execution& run)
    : kernels_(run.kernels()),
      rows_(rows),
      step_(options.step),
      rotated_(std::fabs(options.step) <= kLongestRotatedStep) {
  require_sinusoidal_base(options.base);
  require_sinusoidal_positions(rows, options);

  origin_ = options.start;
  double remainder = step_ == 0 ? 0 : std::fmod(options.start, step_);  // exact
  // If rows are computed by rotation, or if the remainder of start / step is 0, positions are
  // counted from that remainder. Otherwise, they are counted from `start`, because positions
  // counted from a remainder much smaller than the step could lose digits.
  if (step_ != 0 && (rotated_ || remainder == 0)) {
    if (remainder != 0 && (remainder < 0) != (step_ < 0)) remainder += step_;
    const double steps = std::nearbyint((options.start - remainder) / step_);
    if (std::fabs(steps) <= kLargestPosition) {
      origin_ = remainder;
      first_index_ = static_cast<std::int64_t>(steps);
    }
  }
  constexpr std::int64_t kRows = kernels::kSinusoidRows;
  first_skip_ = (first_index_ % kRows + kRows) % kRows;
  num_blocks_ = rows == 0 ? 0 : kernels::ceil_divide(first_skip_ + rows, kRows);

  columns_ = make_sinusoid_columns(width, options.base, options.layout, run);
  if (!rotated_) return;
  const std::int64_t padded = width + kernels::kPanelWidth;
  auto* step_cos = run.take<double>(padded, "sinusoidal columns");
  auto* step_sin = run.take<double>(padded, "sinusoidal columns");
  const bool interleaved = options.layout == SinusoidalLayout::kInterleaved;
  const std::int64_t sines = (width + 1) / 2;
  for (std::int64_t c = 0; c < padded; ++c) {
    // A cosine column is rotated by the same angle per step as the sine column with the same
    // frequency.
    const std::int64_t sine = interleaved ? c & ~std::int64_t{1} : c < sines ? c : c - sines;
    const Rotation rotation = c == sine ? rotation_of_turns(step_ * columns_.frequency[c])
                                        : Rotation{step_cos[sine], step_sin[sine]};
    step_cos[c] = rotation.cos;
    step_sin[c] = rotation.sin;
  }
  columns_.step_cos = step_cos;
  columns_.step_sin = step_sin;
}

std::int64_t SinusoidalTable::begin(std::int64_t block) const noexcept {
  return std::max<std::int64_t>(0, block * kernels::kSinusoidRows - first_skip_);
}

std::int64_t SinusoidalTable::end(std::int64_t block) const noexcept {
  return std::min(rows_, (block + 1) * kernels::kSinusoidRows - first_skip_);
}

double SinusoidalTable::position(std::int64_t index) const noexcept {
  return origin_ + static_cast<double>(index) * step_;
}

void SinusoidalTable::write(std::int64_t block, float* out, std::int64_t out_row,
                            std::int64_t out_col) const noexcept {
  const std::int64_t first = begin(block);
  const std::int64_t rows = end(block) - first;
  if (rotated_) {
    const std::int64_t skip = block == 0 ? first_skip_ : 0;
    kernels_.rotated_sinusoids(columns_, position(first_index_ + first - skip), skip, rows, out,
                               out_row, out_col);
    return;
  }
  std::array<double, kernels::kSinusoidRows> positions;
  for (std::int64_t i = 0; i < rows; ++i) positions[i] = position(first_index_ + first + i);
  kernels_.sinusoids(columns_, positions.data(), rows, out, out_row, out_col);
}

}  // namespace attn
