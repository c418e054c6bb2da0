#pragma once

#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;

/// Residual connection and layer normalisation (D2L 11.7.3, `AddNorm`; the "Add & Norm" of Vaswani
/// et al. 2017):
///
///   output = LayerNorm(dropout(y) + x)
///
/// Parameters: "ln.weight" and "ln.bias" (width), as in D2L.
class ATTN_API AddNorm : public Module {
 public:
  /// Throws the same errors as LayerNorm.
  explicit AddNorm(std::int64_t width, const LayerNormOptions& options = {});

  std::int64_t width() const noexcept { return norm_.width(); }

  /// `x` is (…, width); `y` and `output` have the same shape. All may have any strides. `output`
  /// may be `x` or `y`; otherwise it must not overlap either. The sum is one float addition; its
  /// normalisation has the error bound of LayerNorm. Throws kInvalidArgument for a null data
  /// pointer or a dropout probability outside [0, 1]. May also throw kShapeMismatch or
  /// std::bad_alloc. If it throws, `output` is unchanged.
  ///
  /// Intermediates: "sum", which is dropout(y) + x, and "ln.output".
  void forward(const ConstTensor& x, const ConstTensor& y, const Tensor& output,
               const Dropout& dropout = {}, Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x` and `y`.
  Variable forward(const Variable& x, const Variable& y, const Dropout& dropout = {}) const;

 private:
  LayerNorm norm_;
};

}  // namespace attn
