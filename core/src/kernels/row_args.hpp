#pragma once

// The arguments of the kernels that process a matrix row by row.

#include <cstdint>

#include "kernels/strided.hpp"

namespace attn::kernels {

/// Computes out[i, c] from a[i, c] and b[i, c]. out may be a or b.
struct ElementwiseArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> a;
  Strided<const float> b;
  Strided<float> out;
};

/// out[i, c] = f(x[i, c]), or f(x[i, c]) · factor[i, c]. out may be x or factor.
struct MapArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> x;
  Strided<const float> factor;  ///< or none
  Strided<float> out;
};
using MapKernel = void (*)(const MapArgs&) noexcept;

/// out[i] = 0 where words[i] >> 8 < drop_below, else factor · x[i]. out may be x.
struct DropoutArgs {
  index count = 0;
  const std::uint32_t* words = nullptr;
  std::uint32_t drop_below = 0;  ///< limit for the upper 24 bits of a word; at most 2^24
  float factor = 1;
  const float* x = nullptr;
  index x_col = 1;
  float* out = nullptr;
  index out_col = 1;
};

/// Softmax over each row of x. Excluded columns and scores of −∞ get 0. If no other score is left
/// in a row, the whole row is 0. out may be x.
struct SoftmaxArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> x;
  Strided<float> out;
  /// If not null, only the first lengths[i·length_row] columns of row i take part.
  const std::int32_t* lengths = nullptr;
  index length_row = 0;
  Strided<const std::uint8_t> mask;  ///< (rows, cols), or none; zeros exclude elements
};

/// The statistics of a row that the backward pass of a norm needs: x̂ = ((x − mean) − shift) ·
/// factor.
struct RowStatistics {
  float mean = 0;
  float shift = 0;  ///< rounding error of the mean
  float factor = 0;
};

/// Subtracts the mean from each row of x, or of x + addend, and divides the row by the root of its
/// mean square. Then multiplies by weight and adds bias. out may be x or addend.
struct NormArgs {
  index rows = 0;
  index cols = 0;
  Strided<const float> x;
  Strided<const float> addend;    ///< or none
  bool centred = true;            ///< false means that the mean is not subtracted
  const float* weight = nullptr;  ///< weight of each column, or null
  float weight_offset = 0;        ///< number added to each weight
  const float* bias = nullptr;    ///< bias of each column, or null; only allowed with a weight
  float epsilon = 0;              ///< number added to the mean square
  Strided<float> out;
  RowStatistics* statistics = nullptr;  ///< (rows), or null
};

/// out[i, c] = keep[c]·x[i, c] + cross[c]·x[i, partner of c], for an even number of columns.
/// Partners are columns 2j and 2j + 1, or columns j and j + cols/2. out may be x.
struct RotationArgs {
  index rows = 0;
  index cols = 0;
  bool interleaved = true;  ///< true if columns 2j and 2j + 1 are partners, not j and j + cols/2
  const float* keep = nullptr;
  const float* cross = nullptr;
  index table_row = 0;  ///< row stride of keep and cross; 0 if all rows of x share one row of each
  Strided<const float> x;
  Strided<float> out;
};

/// Columns of a sinusoidal table: column c is sin(2π·(frequency[c]·p + offset[c])) at position p.
/// The arrays are readable for kPanelWidth more columns.
struct SinusoidColumns {
  index count = 0;
  const double* frequency = nullptr;  ///< frequency of each column, in turns per position
  const double* offset = nullptr;     ///< offset of each column, in turns: 0 for a sine, 1/4 for a
                                      ///< cosine
  /// Factor on every value; only `sinusoids` uses it.
  double amplitude = 1;
  /// Cosine and sine of the angle from one row to the next; only `rotated_sinusoids` uses them.
  const double* step_cos = nullptr;
  const double* step_sin = nullptr;
};

/// The number of rows of a sinusoidal table that are computed by rotating one exact row.
inline constexpr index kSinusoidRows = 64;

/// One step of a recurrent layer for several sequences, after the step's matrix products. The
/// arrays are readable, and next_state is writable, up to a whole panel beyond each row.
struct RecurrentCellArgs {
  index rows = 0;
  index hidden = 0;
  const float* from_input = nullptr;  ///< (rows, gates · hidden)
  index from_input_row = 0;
  const float* from_state = nullptr;  ///< (rows, gates · hidden)
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden)
  float* next_state = nullptr;
  index state_row = 0;
  bool relu = false;  ///< true if rnn_cell uses ReLU instead of tanh
};

}  // namespace attn::kernels
