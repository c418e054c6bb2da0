#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Attention of the same queries over two parts of the keys, made that over both:
///
///   lse    = ln(exp(lse_a) + exp(lse_b))
///   output = exp(lse_a − lse) · output_a + exp(lse_b − lse) · output_b
///
/// (Dao et al. 2022, arXiv:2205.14135; over many machines Liu et al. 2023, arXiv:2310.01889). So a
/// sequence can be attended to in parts, wherever they lie and in whatever order they come: each
/// part is a call of scaled_dot_product_attention() that gives its log-sum-exp. Positions go on
/// counting: the diagonal of a causal part is where the whole has it. A sink belongs to one part
/// only.
///
/// Outputs (N, Dv), (B, N, Dv) or (B, H, N, Dv); log-sum-exps the same without the last size, in
/// natural units. `log_sum_exp` may be none. Any strides; `output` and `log_sum_exp` may be those
/// of part a or b, otherwise they must not overlap anything.
///
/// A part of −∞ has nothing to attend to: it is not read, and the other one comes out with its own
/// bits. Both of −∞ give 0 and −∞. The order of a and b does not matter but for the last bits.
///
/// Error: with exact inputs, output is within (5e-7 + 1.2e-7 · |lse_a − lse_b| · w) · m of the
/// exact one, m the larger of |output_a| and |output_b|, and w the smaller of both weights; lse
/// within 6e-8 · |lse| + 3e-7. Log-sum-exps that are themselves off by ε, rounding to float among
/// it, turn the output by up to 2·ε·w·m more. What is merged in any grouping, of n parts, so
/// differs by no more than n times that.
///
/// Bits: a row depends on its own inputs, on the instruction set, and on whether columns lie side
/// by side in all three outputs.
///
/// Throws kShapeMismatch, kInvalidArgument for null data, and std::bad_alloc; outputs are then
/// untouched.
ATTN_API void merge_attention(const ConstTensor& output_a, const ConstTensor& log_sum_exp_a,
                              const ConstTensor& output_b, const ConstTensor& log_sum_exp_b,
                              const Tensor& output, const Tensor& log_sum_exp = {},
                              Context& context = Context::default_context());

}  // namespace attn
