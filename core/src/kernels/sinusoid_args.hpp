#pragma once

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// Columns of a sinusoidal table: column c is sin(2π·(frequency[c]·p + offset[c])) at position p.
/// The arrays are readable for kPanelWidth more columns.
struct SinusoidColumns {
  index count = 0;
  const double* frequency = nullptr;  ///< turns per position
  const double* offset = nullptr;     ///< turns: 0 for a sine, 1/4 for a cosine
  /// Factor on every value; only `sinusoids` uses it.
  double amplitude = 1;
  /// Cosine and sine of the angle from one row to the next; only `rotated_sinusoids` uses them.
  const double* step_cos = nullptr;
  const double* step_sin = nullptr;
};

/// The number of rows of a sinusoidal table that are computed by rotating one exact row.
inline constexpr index kSinusoidRows = 64;

}  // namespace attn::kernels
