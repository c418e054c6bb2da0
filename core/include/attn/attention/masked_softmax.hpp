#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Selects the columns that take part in masked_softmax(). By default, all columns take part. If
/// both options are set, a column takes part only if both options allow it.
struct MaskedSoftmaxOptions {
  /// Only the first valid_lens columns of a row take part. Shape (B) gives one length for all rows
  /// of a batch entry. Shape (B, N) gives one length for each row. Each length is in [0, K].
  LengthsView valid_lens = {};
  /// Columns where the mask is true (not 0) take part. The mask broadcasts to the shape of `x`,
  /// aligned at the last dimension.
  ConstMask mask = {};
};

/// Softmax along the last dimension, over the columns that are not excluded (D2L 11.3,
/// `masked_softmax(X, valid_lens)`):
///
///   output_j = exp(x_j) / Σ_k exp(x_k)   for the j and k that take part; 0 for any other j
///
/// `x` is (N, K), (B, N, K) or (B, H, N, K); `output` has the same shape. Both may have any
/// strides. `output` may be `x` itself; otherwise the two must not overlap. With rank 2, each row
/// is a batch entry, so valid_lens is (N).
///
/// Excluded values do not enter the arithmetic, so an excluded NaN or infinity has no effect. If a
/// value that takes part is NaN or +∞, the results for all values in its row that take part are
/// NaN, as in PyTorch. A value of −∞ is also excluded. If no value of a row takes part, all results
/// in that row are 0. In D2L they are 1/K, because D2L replaces excluded values by −10⁶.
///
/// Error: if n values of a row take part and max is the largest of them, the result w for a value x
/// is within w · (6e-7 + 1.5e-8·n + 1.4e-7·(max − x + ln n)) + 1.2e-38 of the exact one.
///
/// The bits of a row depend only on the values that take part, their positions in the row, and the
/// instruction set.
///
/// Throws kInvalidArgument for lengths outside [0, K] or a null data pointer, and kSizeOverflow if
/// there are lengths and K > 2³¹ − 1. May also throw kShapeMismatch or std::bad_alloc. If it
/// throws, `output` is unchanged.
ATTN_API void masked_softmax(const ConstTensor& x, const Tensor& output,
                             const MaskedSoftmaxOptions& options = {},
                             Context& context = Context::default_context());

}  // namespace attn
