#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct RelativeSkewOptions {
  /// True if there are also embeddings for keys after the query.
  bool bidirectional = false;
  float scale = 1;  ///< factor on q·e, e.g. 1/√D for scaled scores
};

/// Relative logits as Music Transformer computes them (Huang et al. 2018, arXiv:1809.04281, section
/// 3.4): all queries are multiplied by all embeddings in one product. The product is then skewed:
/// each row is shifted one place further than the row above it, so that equal distances form
/// diagonals:
///
///   S[i, j] = scale · q_i · e_r,   r = L − 1 + j − i
///
/// `query` is (B, H, N, D), (B, N, D) or (N, D); `output` has the same shape with N instead of D.
/// `embeddings`, the paper's E^r, are (L, D), or (H, L, D) if each head has its own. Row r is for a
/// key r − (L − 1) places after the query, so the last row is for the query's own position. S[i, j]
/// = 0 for j > i, where the paper's procedure leaves numbers that must be masked. With
/// `bidirectional`, embeddings are (2L − 1, D), and all of S is computed. All may have any strides;
/// `output` must not overlap an input. N must not exceed L.
///
/// The relative_keys of scaled_dot_product_attention() give the same numbers and need neither S nor
/// L ≥ N: see relative_keys_of_skew().
///
/// Error: within (D + 2) · 6e-8 · |scale| · Σ|q·e| of the exact value.
///
/// Throws kInvalidArgument for a null data pointer or a scale that is not finite. May also throw
/// kShapeMismatch, kSizeOverflow or std::bad_alloc. If it throws, `output` is unchanged.
ATTN_API void relative_skew(const ConstTensor& query, const ConstTensor& embeddings,
                            const Tensor& output, const RelativeSkewOptions& options = {},
                            Context& context = Context::default_context());

/// For models trained with the skewed form, computes the relative_keys table that gives the same
/// logits. `embeddings` (L, D) or (H, L, D) become `relative_keys` (2L − 1, D) or (H, 2L − 1, D),
/// with zeros for keys after the query. Embeddings of the bidirectional form are already such a
/// table. Queries further than L − 1 from a key use the embedding of the longest distance. The
/// tensors may have any strides and must not overlap.
///
/// Throws kInvalidArgument for a null data pointer. May also throw kShapeMismatch.
ATTN_API void relative_keys_of_skew(const ConstTensor& embeddings, const Tensor& relative_keys);

}  // namespace attn
