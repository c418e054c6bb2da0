#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Merges two attention results. Both results are for the same queries, each with one part of the
/// keys. The merged result equals attention to both parts at once:
///
///   lse    = ln(exp(lse_a) + exp(lse_b))
///   output = exp(lse_a − lse) · output_a + exp(lse_b − lse) · output_b
///
/// See Dao et al. 2022, arXiv:2205.14135, and, for attention across machines, Liu et al. 2023,
/// arXiv:2310.01889. With this function, you can attend to the parts of a sequence in any order,
/// wherever they are stored. Compute each part with scaled_dot_product_attention() and request its
/// log-sum-exp. Positions count from the start of the whole sequence. A causal part therefore needs
/// the diagonal that corresponds to its position in the whole sequence. Attention sinks, if any,
/// must be passed in the call for one part only.
///
/// Outputs are (N, Dv), (B, N, Dv) or (B, H, N, Dv). Log-sum-exps have the same shape without the
/// last dimension and use the natural logarithm. `log_sum_exp` may be none. All may have any
/// strides. `output` and `log_sum_exp` may be the tensors of part a or b; otherwise they must not
/// overlap any other tensor.
///
/// A log-sum-exp of −∞ means that the part has nothing to attend to: its output is not read, and
/// the other part is returned bit for bit. If both are −∞, the output is 0 and the log-sum-exp is
/// −∞. Swapping a and b changes at most the last bits.
///
/// Error: with exact inputs, `output` is within (5e-7 + 1.2e-7 · |lse_a − lse_b| · w) · m of the
/// exact value. Here m is the larger of |output_a| and |output_b|, and w is the smaller of the
/// factors by which they are multiplied. lse is within 6e-8 · |lse| + 3e-7. If the two input
/// log-sum-exps are off by ε, including their rounding to float, the output is off by up to 2·ε·w·m
/// more. Merging n parts in different groupings therefore gives results that differ by at most n
/// times this bound.
///
/// The bits of a row depend only on its own inputs, on the instruction set, and on whether the
/// columns of all three outputs are contiguous.
///
/// Throws kInvalidArgument for a null data pointer. May also throw kShapeMismatch or
/// std::bad_alloc. If it throws, outputs are unchanged.
ATTN_API void merge_attention(const ConstTensor& output_a, const ConstTensor& log_sum_exp_a,
                              const ConstTensor& output_b, const ConstTensor& log_sum_exp_b,
                              const Tensor& output, const Tensor& log_sum_exp = {},
                              Context& context = Context::default_context());

}  // namespace attn
