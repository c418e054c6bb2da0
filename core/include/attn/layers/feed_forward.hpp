#pragma once

#include <cstdint>
#include <optional>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;

struct FeedForwardOptions {
  std::int64_t d_model = 0;                       ///< width of the input
  std::int64_t dim_feedforward = 0;               ///< width between the two layers
  std::optional<std::int64_t> out_features = {};  ///< width of the output; d_model by default
  Activation activation = Activation::kRelu;
  bool bias = true;
  WeightFormat weights = {};  ///< format of both layers' weights
};

/// The position-wise feed-forward network of a Transformer (Vaswani et al. 2017, section 3.3; D2L
/// 11.7.2, `PositionWiseFFN`), which applies the same two layers at every position:
///
///   output = dropout(f(x · W_1ᵀ + b_1)) · W_2ᵀ + b_2
///
/// Parameters, initially zero: "linear1.weight" (dim_feedforward, d_model), "linear2.weight"
/// (out_features, dim_feedforward), and, with bias, "linear1.bias" and "linear2.bias". These are
/// the names in torch.nn.TransformerEncoderLayer. D2L calls the layers dense1 and dense2.
class ATTN_API FeedForward : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  explicit FeedForward(const FeedForwardOptions& options);

  const FeedForwardOptions& options() const noexcept { return options_; }

  /// `x` is (N, d_model) or (B, N, d_model); `output` has the same shape with out_features as the
  /// last size. Both may have any strides. `output` may be `x` itself; otherwise the two must not
  /// overlap. `x` and `output` may have any element types, as in Linear; the values in between are
  /// float32. Needs memory for B·N·dim_feedforward floats.
  ///
  /// Error: each Linear and the activation have the errors stated in their headers; the second
  /// layer multiplies the errors of the first by its weights.
  ///
  /// Throws kInvalidArgument for a null data pointer or a dropout probability outside [0, 1]. May
  /// also throw kShapeMismatch, kSizeOverflow or std::bad_alloc. If it throws, `output` is
  /// unchanged.
  ///
  /// Intermediates: "linear1.output", "hidden" (after f and dropout) and "linear2.output".
  void forward(const ConstAnyTensor& x, const AnyTensor& output, const Dropout& dropout = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`.
  Variable forward(const Variable& x, const Dropout& dropout = {}) const;

 private:
  FeedForwardOptions options_;
  Linear linear1_, linear2_;
};

}  // namespace attn
