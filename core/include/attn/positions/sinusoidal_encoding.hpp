#pragma once

#include <span>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The order of the sine and cosine columns in an encoding of width d. Both layouts allow an odd d;
/// the last sine then has no cosine.
enum class SinusoidalLayout : int {
  kInterleaved,   ///< sin, cos, sin, cos, …, as in Vaswani et al. 2017 and D2L
  kConcatenated,  ///< all ⌈d/2⌉ sines, then all ⌊d/2⌋ cosines, as in tensor2tensor
};

struct SinusoidalEncodingOptions {
  double base = 10000;
  double start = 0;  ///< position of row 0
  double step = 1;   ///< distance between adjacent rows; may be fractional, negative or 0
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// Sinusoidal positional encoding (Vaswani et al. 2017, arXiv:1706.03762, section 3.5):
///
///   P[i, 2j]     = sin(p_i / base^(2j/d))
///   P[i, 2j + 1] = cos(p_i / base^(2j/d)),    p_i = start + i·step
///
/// `output` is (N, d_model) with any strides, any N and d_model ≥ 1. The equations above show the
/// interleaved layout; the other layout has the same numbers in different columns.
///
/// Error: for base ≥ 1 each value is within 3.1e-8 + 4.5e-16·|p_i| of the exact one. The first term
/// is half a unit in the last place of a float near 1, and the second is the rounding of the angle.
/// Their sum is 3.9e-8 up to position 2^24 and 1.0e-6 at 2^31. A base below 1 multiplies the second
/// term by 1/base. If rows are computed by rotation (see below), add 64·|step| to |p_i|.
///
/// The bits of a row depend only on its position, the step, the width, the base and the instruction
/// set, not on neighbouring rows or the number of threads. Rows 1000, 1001, … of a long table
/// therefore equal the rows of a table that starts at 1000. This is true for every `start` and
/// `step` whose quotient is exact, such as integers with step 1.
///
/// Cost: if |step| ≤ 2^17, only the rows at every 64th position are computed exactly. The rows in
/// between are rotated from them, which takes one multiply-add in double precision per value. With
/// larger steps, each value is computed separately.
///
/// Throws kShapeMismatch unless `output` has rank 2. Throws kInvalidArgument for a width of 0, a
/// base that is not in [1e-100, ∞), positions or a step beyond ±2^53 (up to which doubles represent
/// all integers), or a null data pointer. May also throw kSizeOverflow or std::bad_alloc. If it
/// throws, `output` is unchanged.
ATTN_API void sinusoidal_encoding(const Tensor& output,
                                  const SinusoidalEncodingOptions& options = {},
                                  Context& context = Context::default_context());

struct SinusoidalPositionsOptions {
  double base = 10000;
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// The encoding at the given positions p_i, which may be fractional. `positions` is (N) and
/// `output` (N, d_model). Each value is computed separately and depends only on its own position.
/// The error bound and the exceptions are the same as for sinusoidal_encoding(). Also throws
/// kShapeMismatch if the lengths differ.
ATTN_API void sinusoidal_encoding_at(std::span<const double> positions, const Tensor& output,
                                     const SinusoidalPositionsOptions& options = {},
                                     Context& context = Context::default_context());

/// Computes the encoding entirely in float32, for comparison. Every step is rounded to float, as in
/// D2L 11.6 and in common PyTorch code:
///
///   angle = float(p_i) / float(base^float(2j/d)),   sin and cos of that angle
///
/// The sine and cosine of the rounded angle are rounded only once, so nearly all of the error comes
/// from the angle. Floats near 2^k are 2^(k−23) apart, so the value at position p may be off by p ·
/// 6e-8. At large positions, the values are noise. A base outside the range of float32 (below 1e-45
/// or above 3.4e38) becomes 0 or ∞ and gives NaN or the same angle everywhere.
///
/// `encoding` is (N, d_model). `error` has the same shape and receives the encoding minus the exact
/// values; each difference is off by at most 6e-8 of its magnitude plus 4.5e-16·|p_i|. Pass none
/// for a tensor that you do not need. The tensors may have any strides and must not overlap. The
/// columns, the limits of positions and the exceptions are the same as for sinusoidal_encoding().
ATTN_API void sinusoidal_encoding_in_float32(const Tensor& encoding, const Tensor& error,
                                             const SinusoidalEncodingOptions& options = {},
                                             Context& context = Context::default_context());

}  // namespace attn
