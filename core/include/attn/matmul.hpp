#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// output = a · b, for every matrix of a batch: output[…, i, j] = Σ_k a[…, i, k] · b[…, k, j].
///
/// a (M, K), (B, M, K) or (B, H, M, K); b (…, K, N) with the same leading sizes, or (K, N) for all
/// matrices of a; output (…, M, N). Any strides. The output must not overlap a or b. With K = 0 it
/// is 0.
///
/// Error: at most K · 6e-8 · Σ_k |a_ik · b_kj|. Same bits for any number of threads.
///
/// Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow, std::bad_alloc.
ATTN_API void matmul(const ConstTensor& a, const ConstTensor& b, const Tensor& output,
                     Context& context = Context::default_context());

}  // namespace attn
