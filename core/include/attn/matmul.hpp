#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Computes output = a · b for every matrix of a batch: output[…, i, j] = Σ_k a[…, i, k] · b[…, k,
/// j].
///
/// `a` is (M, K), (B, M, K) or (B, H, M, K). `b` is (…, K, N) with the same leading sizes, or (K,
/// N), which is then used for all matrices of `a`. `output` is (…, M, N). All may have any strides.
/// `output` must not overlap `a` or `b`. With K = 0, all elements of `output` are 0.
///
/// Error: at most K · 6e-8 · Σ_k |a_ik · b_kj|. Results are bit-identical for any number of
/// threads.
///
/// Throws kInvalidArgument for a null data pointer. May also throw kShapeMismatch, kSizeOverflow or
/// std::bad_alloc.
ATTN_API void matmul(const ConstTensor& a, const ConstTensor& b, const Tensor& output,
                     Context& context = Context::default_context());

}  // namespace attn
