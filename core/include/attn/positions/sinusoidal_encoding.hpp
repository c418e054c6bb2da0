#pragma once

#include <span>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Where the sines and cosines of a width d lie. Both take odd d: the last sine has no cosine.
enum class SinusoidalLayout : int {
  kInterleaved,   ///< sin, cos, sin, cos, …: Vaswani et al. 2017, D2L
  kConcatenated,  ///< all ⌈d/2⌉ sines, then all ⌊d/2⌋ cosines: tensor2tensor
};

struct SinusoidalEncodingOptions {
  double base = 10000;
  double start = 0;  ///< position of row 0
  double step = 1;   ///< from one row to the next; may be fractional, negative or 0
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// Sinusoidal positional encoding (Vaswani et al. 2017, arXiv:1706.03762, section 3.5):
///
///   P[i, 2j]     = sin(p_i / base^(2j/d))
///   P[i, 2j + 1] = cos(p_i / base^(2j/d)),    p_i = start + i·step
///
/// output (N, d_model), any strides; any N and d_model ≥ 1. Columns as in the interleaved layout;
/// with the other layout the same numbers stand in other columns.
///
/// Error: for base ≥ 1 each value is within 3.1e-8 + 4.5e-16·|p_i| of the exact one: half a unit in
/// the last place of a float near 1, and the rounding of the angle. That is 3.9e-8 up to position
/// 2^24, 1.0e-6 at 2^31. A base below 1 multiplies the second term by 1/base. Where steps are
/// rotated (see below), |p_i| counts 64·|step| more.
///
/// Bits: a row depends on its position, the step, the width, the base and the instruction set
/// alone, not on the rows around it or the number of threads. So rows 1000, 1001, … of a long table
/// equal those of a table that starts at 1000, for every start and step whose quotient is exact, as
/// those of integers are with step 1.
///
/// Cost: one multiply-add in double precision per value, as long as |step| ≤ 2^17: rows are rotated
/// from the exact ones at every 64th position. With larger steps every value is computed by itself.
///
/// Throws kShapeMismatch unless output has rank 2; kInvalidArgument for a width of 0, a base that
/// is not in [1e-100, ∞), positions or a step beyond ±2^53, where whole numbers end, and null data;
/// kSizeOverflow, std::bad_alloc. output is then untouched.
ATTN_API void sinusoidal_encoding(const Tensor& output,
                                  const SinusoidalEncodingOptions& options = {},
                                  Context& context = Context::default_context());

struct SinusoidalPositionsOptions {
  double base = 10000;
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// The same at given positions p_i, fractional ones too: positions (N), output (N, d_model). Every
/// value is computed by itself and depends on its own position alone. Error and errors as above,
/// and kShapeMismatch when the lengths differ.
ATTN_API void sinusoidal_encoding_at(std::span<const double> positions, const Tensor& output,
                                     const SinusoidalPositionsOptions& options = {},
                                     Context& context = Context::default_context());

/// The encoding as code that computes in float32 has it, for comparison. Every step is rounded to
/// float, as in D2L 11.6 and in what is commonly written with PyTorch:
///
///   angle = float(p_i) / float(base^float(2j/d)),   sin and cos of that angle
///
/// The sine and cosine are those of the rounded angle, rounded once: what is lost is lost before
/// them. Angles near 2^k are 2^(k−23) apart, so the value at position p may be off by p · 6e-8, and
/// far positions are noise. A base that float32 does not hold (below 1e-45, above 3.4e38) counts as
/// 0 or ∞ there, and gives NaN or the same angle everywhere.
///
/// encoding (N, d_model), and error of the same shape: its values less the exact ones, within 6e-8
/// of their size and 4.5e-16·|p_i| of the true difference. Either may be empty. Any strides; they
/// must not overlap. Positions, errors and columns as for sinusoidal_encoding.
ATTN_API void sinusoidal_encoding_in_float32(const Tensor& encoding, const Tensor& error,
                                             const SinusoidalEncodingOptions& options = {},
                                             Context& context = Context::default_context());

}  // namespace attn
