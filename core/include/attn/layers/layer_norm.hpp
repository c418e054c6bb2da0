#pragma once

#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
namespace kernels {
struct NormArgs;
}  // namespace kernels

struct LayerNormOptions {
  float eps = 1e-5F;
  bool elementwise_affine = true;  ///< true if a learned weight multiplies the result (and a bias
                                   ///< is added)
  bool bias = true;
};

/// Layer normalisation over the last dimension (Ba et al. 2016, arXiv:1607.06450), like
/// torch.nn.LayerNorm:
///
///   y = (x − mean(x)) / √(var(x) + eps) · weight + bias,   var(x) = mean((x − mean(x))²)
///
/// Parameters: "weight" (width), initially ones, and "bias" (width), initially zeros.
///
/// Error: each value is within 1.5e-6·(1 + |ŷ|)·|weight| + 6e-8·|y| of the exact one for widths up
/// to 16384, where ŷ is y before weight and bias. A second pass corrects the mean, so this bound
/// holds for any ratio of the mean to the standard deviation. NaN or infinity in a row makes the
/// whole row NaN.
class ATTN_API LayerNorm : public Module {
 public:
  /// Throws kInvalidArgument for a width below 1 or an eps that is not a finite number ≥ 0. May
  /// also throw kSizeOverflow or std::bad_alloc.
  explicit LayerNorm(std::int64_t width, const LayerNormOptions& options = {});

  std::int64_t width() const noexcept { return width_; }
  const LayerNormOptions& options() const noexcept { return options_; }

  /// `x` is (…, width); `output` has the same shape. Both may have any strides. `output` may be `x`
  /// itself; otherwise the two must not overlap. Throws kInvalidArgument for a null data pointer.
  /// May also throw kShapeMismatch or std::bad_alloc. If it throws, `output` is unchanged.
  /// Intermediate: "output".
  ///
  /// `x` and `output` may have any element types. The result is computed from the exact values of x
  /// and rounded once if `output` is not float32 (see Float16 and BFloat16).
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Normalises x + y, as in a residual connection. `y` has the shape of `x`. The sum is one float
  /// addition. `output` may also be `y` itself.
  void forward_sum(const ConstAnyTensor& x, const ConstAnyTensor& y, const AnyTensor& output,
                   Context& context = Context::default_context(),
                   Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. With g = weight ∘
  /// dy, x̂ = (x − mean(x)) / d and d = √(var(x) + eps), the gradients are
  ///
  ///   dx = (g − mean(g) − x̂ · mean(g ∘ x̂)) / d,
  ///   dweight = Σ over rows of dy ∘ x̂,   dbias = Σ over rows of dy
  ///
  /// Error, to first order: an element of dx is within 4e-6 · (|g| + mean(|g|) + (1 + |x̂|) ·
  /// mean(|g| ∘ (1 + |x̂|))) / d, an element of dweight is within (6e-6 + 1e-9·rows) · Σ|dy| ∘ (1 +
  /// |x̂|), and an element of dbias is within (4e-6 + 1e-9·rows) · Σ|dy|.
  Variable forward(const Variable& x) const;
  /// Gives the same result as forward(x + y). `x` and `y` have the same shape.
  Variable forward_sum(const Variable& x, const Variable& y) const;

 private:
  kernels::NormArgs make_args() const noexcept;

  std::int64_t width_;
  LayerNormOptions options_;
  Tensor weight_, bias_;
};

}  // namespace attn
