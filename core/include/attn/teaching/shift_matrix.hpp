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

/// The matrix that shifts a sinusoidal encoding by δ positions (Vaswani et al. 2017, section 3.5;
/// D2L 11.6):
///
///   M_δ · P[i] = P[i + δ]   for every i,
///
/// Here, P[i] is a row of the table, written as a column. For a whole table, P_shifted = P · M_δᵀ.
/// In the interleaved layout, M_δ has a block on its diagonal for each frequency ω_j =
/// base^(−2j/d):
///
///   ⎛ sin((i+δ)·ω_j) ⎞   ⎛  cos(δ·ω_j)  sin(δ·ω_j) ⎞   ⎛ sin(i·ω_j) ⎞
///   ⎝ cos((i+δ)·ω_j) ⎠ = ⎝ −sin(δ·ω_j)  cos(δ·ω_j) ⎠ · ⎝ cos(i·ω_j) ⎠
///
/// In the concatenated layout the same numbers are on three diagonals. `output` is (d, d) with any
/// strides. δ may be negative or fractional. M_δ depends only on δ; M_−δ = M_δᵀ = M_δ⁻¹ and M_δ ·
/// M_ε = M_(δ+ε).
///
/// The width must be even: with an odd width the last sine has no cosine, and no linear map turns
/// the sine alone into the shifted sine.
///
/// Error: each entry is within 3.1e-8 + 4.5e-16·|δ| of the exact one, for base ≥ 1.
///
/// Throws kShapeMismatch unless `output` is square and has an even width ≥ 2. Throws
/// kInvalidArgument for a base that is not in [1e-100, ∞) or for |δ| > 2^53. May also throw
/// std::bad_alloc.
ATTN_API void shift_matrix(const Tensor& output, double delta, const ShiftOptions& options = {},
                           Context& context = Context::default_context());

/// Computes M_δ · P[i] for every row of an encoding without forming M_δ. `encoding` is (N, d) or
/// (B, N, d); `output` has the same shape. Both may have any strides. `output` may be `encoding`
/// itself; otherwise the two must not overlap. The function accepts any rows, not only rows of an
/// encoding: it rotates each pair of columns.
///
/// Error: for |δ| ≤ 2^24, values are within 1.5e-7 · (|P[i, 2j]| + |P[i, 2j+1]|) of the exact
/// product. An encoding with an error of 3.1e-8 thus becomes an encoding with an error of 2.7e-7.
///
/// Throws the same errors as shift_matrix(), and kShapeMismatch if the shapes differ.
ATTN_API void apply_shift(const ConstTensor& encoding, double delta, const Tensor& output,
                          const ShiftOptions& options = {},
                          Context& context = Context::default_context());

}  // namespace attn
