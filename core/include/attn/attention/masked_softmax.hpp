#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// What takes part; all does by default, and with both only what both let.
struct MaskedSoftmaxOptions {
  /// The first valid_lens columns: (B) for all rows of batch entry b, or (B, N) for each row i of
  /// it. Values in [0, K].
  LengthsView valid_lens = {};
  /// True (not 0) takes part; broadcasts to the shape of x from the right.
  ConstMask mask = {};
};

/// Softmax over the last dimension with part of it excluded (D2L 11.3, `masked_softmax(X,
/// valid_lens)`):
///
///   output_j = exp(x_j) / Σ_k exp(x_k)   over the j and k that take part, 0 for the others
///
/// x (N, K), (B, N, K) or (B, H, N, K), and output of the same shape. Any strides; output may be x
/// itself, otherwise they must not overlap. With rank 2 the rows are the batch: valid_lens (N).
///
/// What is excluded is not read into the arithmetic: NaN and infinity there have no effect. NaN and
/// +∞ that take part make all that takes part in their row NaN, as in PyTorch. −∞ excludes as well.
/// A row in which nothing is left gives zeros; D2L, which puts −10⁶ in place of what is excluded,
/// gives 1/K there.
///
/// Error: a result w from x, among n that take part, is within
/// w · (6e-7 + 1.5e-8·n + 1.4e-7·(max − x + ln n)) + 1.2e-38 of the exact one.
///
/// Bits: a row depends on what takes part in it, its place in the row, and the instruction set.
///
/// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for lengths outside [0, K] and null
/// data; output is then untouched.
ATTN_API void masked_softmax(const ConstTensor& x, const Tensor& output,
                             const MaskedSoftmaxOptions& options = {},
                             Context& context = Context::default_context());

}  // namespace attn
