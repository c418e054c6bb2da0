#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Which columns take part. By default all do; if both options are set, only those that both allow.
struct MaskedSoftmaxOptions {
  /// Only the first valid_lens columns take part: (B) has one length for all rows of a batch entry,
  /// (B, N) one for each row. Values are in [0, K].
  LengthsView valid_lens = {};
  /// Columns where the mask is true (not 0) take part. Broadcasts to the shape of x from the right.
  ConstMask mask = {};
};

/// Softmax over the columns of the last dimension that are not excluded (D2L 11.3,
/// `masked_softmax(X, valid_lens)`):
///
///   output_j = exp(x_j) / Σ_k exp(x_k)   over the j and k that take part, 0 for the others
///
/// x is (N, K), (B, N, K) or (B, H, N, K); output has the same shape. Both may have any strides.
/// output may be x itself, otherwise they must not overlap. With rank 2 the rows are the batch, so
/// valid_lens is (N).
///
/// Excluded values do not enter the arithmetic, so NaN and infinity there have no effect. If a
/// value that takes part is NaN or +∞, all values of its row that take part become NaN, as in
/// PyTorch. −∞ excludes a value too. A row with nothing left gives zeros; D2L, which replaces
/// excluded values by −10⁶, gives 1/K there.
///
/// Error: if n values take part, the result w for a value x is within w · (6e-7 + 1.5e-8·n +
/// 1.4e-7·(max − x + ln n)) + 1.2e-38 of the exact one.
///
/// Bits: a row depends only on the values that take part, their positions in the row, and the
/// instruction set.
///
/// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for lengths outside [0, K] and null
/// data; output is then untouched.
ATTN_API void masked_softmax(const ConstTensor& x, const Tensor& output,
                             const MaskedSoftmaxOptions& options = {},
                             Context& context = Context::default_context());

}  // namespace attn
