#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct ShiftOptions {
  double base = 10000;
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// The matrix that moves a sinusoidal encoding by δ positions (Vaswani et al. 2017, section 3.5;
/// D2L 11.6):
///
///   M_δ · P[i] = P[i + δ]   for every i,
///
/// where P[i], a row of the table, stands as a column; for a whole table, P_shifted = P · M_δᵀ.
/// Interleaved, M_δ has a block on its diagonal for each frequency ω_j = base^(−2j/d):
///
///   ⎛ sin((i+δ)·ω_j) ⎞   ⎛  cos(δ·ω_j)  sin(δ·ω_j) ⎞   ⎛ sin(i·ω_j) ⎞
///   ⎝ cos((i+δ)·ω_j) ⎠ = ⎝ −sin(δ·ω_j)  cos(δ·ω_j) ⎠ · ⎝ cos(i·ω_j) ⎠
///
/// and concatenated the same numbers lie on three diagonals. output (d, d), any strides. δ may be
/// negative or fractional. M_δ depends on δ alone, M_−δ = M_δᵀ = M_δ⁻¹ and M_δ · M_ε = M_(δ+ε).
///
/// The width must be even: the last sine of an odd width has no cosine beside it, and from the sine
/// alone no linear map leads to the shifted sine.
///
/// Error: each entry is within 3.1e-8 + 4.5e-16·|δ| of the exact one, for base ≥ 1.
///
/// Throws kShapeMismatch unless output is square and of even width ≥ 2; kInvalidArgument for a
/// base that is not in [1e-100, ∞) or a |δ| > 2^53; std::bad_alloc.
ATTN_API void shift_matrix(const Tensor& output, double delta, const ShiftOptions& options = {},
                           Context& context = Context::default_context());

/// M_δ · P[i] for every row of an encoding, without M_δ: encoding (N, d) or (B, N, d), output of
/// the same shape. Any strides; output may be encoding itself, otherwise they must not overlap.
/// Works for any rows, not only those of an encoding: each pair of columns is rotated.
///
/// Error: within 1.5e-7 · (|P[i, 2j]| + |P[i, 2j+1]|) of M_δ applied exactly, for |δ| ≤ 2^24; so an
/// encoding within 3.1e-8 becomes one within 2.7e-7.
///
/// Errors as shift_matrix; kShapeMismatch also when the shapes differ.
ATTN_API void apply_shift(const ConstTensor& encoding, double delta, const Tensor& output,
                          const ShiftOptions& options = {},
                          Context& context = Context::default_context());

}  // namespace attn
