#pragma once

#include <cstdint>

#include "attn/positions/sinusoidal_encoding.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Throws kInvalidArgument if `base` is not a valid base of a sinusoidal encoding.
void require_sinusoidal_base(double base);

/// Throws kInvalidArgument unless |position| ≤ 2^53.
void require_position(const char* name, double position, const char* what = "");

/// Throws kInvalidArgument unless the step and all positions of a table have magnitudes of at most
/// 2^53.
void require_sinusoidal_positions(std::int64_t rows, const SinusoidalEncodingOptions& options);

/// The columns of a sinusoidal encoding in the form that kernels expect, in scratch memory.
/// `step_cos` and `step_sin` are null. Throws std::bad_alloc.
kernels::SinusoidColumns make_sinusoid_columns(std::int64_t width, double base,
                                               SinusoidalLayout layout, runtime::Execution& run);

/// cos and sin of 2π·turns.
struct Rotation {
  double cos;
  double sin;
};
Rotation rotation_of_turns(double turns) noexcept;

/// A sinusoidal encoding at evenly spaced positions, written block by block.
///
/// The table counts positions in whole steps from the origin `start` mod `step`. Blocks begin at
/// multiples of 64 steps, no matter which row comes first. The first row of a block is computed
/// exactly, and rotations of that row give the others. The row of a position is therefore always
/// computed from the same exact row, with the same number of rotations.
class SinusoidalTable {
 public:
  /// Throws kInvalidArgument or std::bad_alloc.
  SinusoidalTable(std::int64_t rows, std::int64_t width, const SinusoidalEncodingOptions& options,
                  runtime::Execution& run);

  std::int64_t num_blocks() const noexcept { return num_blocks_; }

  /// The rows [begin, end) of block `block`: at most kSinusoidRows.
  std::int64_t begin(std::int64_t block) const noexcept;
  std::int64_t end(std::int64_t block) const noexcept;

  /// Writes the rows of a block. `out` is the address of the first row.
  void write(std::int64_t block, float* out, std::int64_t out_row,
             std::int64_t out_col) const noexcept;

 private:
  double position(std::int64_t index) const noexcept;

  const kernels::KernelTable& kernels_;
  std::int64_t rows_;
  double step_;
  bool rotated_;
  double origin_ = 0;             ///< position from which steps are counted: `start` mod `step`, or
                                  ///< `start`
  std::int64_t first_index_ = 0;  ///< number of steps from the origin to row 0
  std::int64_t first_skip_ = 0;   ///< number of rows of the first block that are before row 0
  std::int64_t num_blocks_ = 0;
  kernels::SinusoidColumns columns_;
};

}  // namespace attn
