#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct RelativeSkewOptions {
  /// Embeddings for keys after the query as well.
  bool bidirectional = false;
  float scale = 1;  ///< factor on q·e; 1/√D where scores are scaled so
};

/// Relative logits as Music Transformer computes them (Huang et al. 2018, arXiv:1809.04281, section
/// 3.4): one product of all queries with all embeddings, whose rows are then skewed, each by one
/// place more than the one above it, so that embeddings of one distance lie on one diagonal:
///
///   S[i, j] = scale · q_i · e_r,   r = L − 1 + j − i
///
/// query (B, H, N, D), (B, N, D) or (N, D); output the same with N in place of D; embeddings E^r
/// (L, D), or (H, L, D) for heads with their own, where row r stands for a key r − (L − 1) after
/// the query, so the last row for the query itself. S[i, j] = 0 for j > i, where the procedure of
/// the paper leaves numbers that are to be masked. Bidirectional: embeddings (2L − 1, D), all of S.
/// Any strides; output must not overlap an input. N ≤ L.
///
/// The same numbers as the relative_keys of scaled_dot_product_attention, which need neither S nor
/// L ≥ N: see relative_keys_of_skew.
///
/// Error: within (D + 2) · 6e-8 · |scale| · Σ|q·e| of the exact value.
///
/// Throws kShapeMismatch; kInvalidArgument for a scale that is not finite or null data;
/// kSizeOverflow, std::bad_alloc; output is then untouched.
ATTN_API void relative_skew(const ConstTensor& query, const ConstTensor& embeddings,
                            const Tensor& output, const RelativeSkewOptions& options = {},
                            Context& context = Context::default_context());

/// The relative_keys table that gives the same logits, for models trained with the skewed form:
/// embeddings (L, D) or (H, L, D) become relative_keys (2L − 1, D) or (H, 2L − 1, D), with zeros
/// for keys after the query. Embeddings of the bidirectional form are such a table already. Queries
/// further than L − 1 from a key take the embedding of the longest distance. Any strides; no
/// overlap.
///
/// Throws kShapeMismatch, and kInvalidArgument for null data.
ATTN_API void relative_keys_of_skew(const ConstTensor& embeddings, const Tensor& relative_keys);

}  // namespace attn
