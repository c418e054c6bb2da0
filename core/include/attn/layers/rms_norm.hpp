#pragma once

#include <cstdint>
#include <limits>

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

struct RmsNormOptions {
  /// The default is PyTorch's. Llama uses 1e-5 or 1e-6; Qwen and Gemma use 1e-6.
  float eps = std::numeric_limits<float>::epsilon();
  bool elementwise_affine = true;  ///< true if a learned weight multiplies the result
  /// Multiplies the result by 1 + weight instead of weight. The weights are initially zero (Gemma).
  bool zero_centred_weight = false;
};

/// Normalisation by the root mean square over the last dimension (Zhang & Sennrich 2019,
/// arXiv:1910.07467), like torch.nn.RMSNorm and the norms of Llama, Qwen and Gemma:
///
///   y = x / √(mean(x²) + eps) · weight
///
/// Parameter: "weight" (width), initially ones, or zeros with zero_centred_weight.
///
/// Error: each value is within 6e-7·|y| of the exact one for widths up to 16384 and rows whose
/// squares stay in the range of float. NaN in a row makes the whole row NaN.
class ATTN_API RmsNorm : public Module {
 public:
  /// Throws kInvalidArgument for a width below 1 or an eps that is not a finite number ≥ 0. May
  /// also throw kSizeOverflow or std::bad_alloc.
  explicit RmsNorm(std::int64_t width, const RmsNormOptions& options = {});

  std::int64_t width() const noexcept { return width_; }
  const RmsNormOptions& options() const noexcept { return options_; }

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
  /// dy and x̂ = x / √(mean(x²) + eps), the gradients are
  ///
  ///   dx = (g − x̂ · mean(g ∘ x̂)) / √(mean(x²) + eps),   dweight = Σ over rows of dy ∘ x̂
  ///
  /// Error, to first order: an element of dx is within 2e-6 · (|g| + |x̂| · mean(|g ∘ x̂|)) /
  /// √(mean(x²) + eps), and an element of dweight is within (6e-6 + 1e-9·rows) · Σ|dy ∘ x̂|.
  Variable forward(const Variable& x) const;
  /// Gives the same result as forward(x + y). `x` and `y` have the same shape.
  Variable forward_sum(const Variable& x, const Variable& y) const;

 private:
  kernels::NormArgs make_args() const noexcept;

  std::int64_t width_;
  RmsNormOptions options_;
  Tensor weight_;
};

}  // namespace attn
