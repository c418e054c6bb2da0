#pragma once

#include <cstdint>

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

struct GatedFeedForwardOptions {
  std::int64_t d_model = 0;          ///< hidden_size in Transformers
  std::int64_t dim_feedforward = 0;  ///< intermediate_size in Transformers
  /// kSilu gives SwiGLU (Llama, Qwen, Mistral), kGeluTanh gives GeGLU (Gemma, T5 1.1), and kSigmoid
  /// gives GLU.
  Activation activation = Activation::kSilu;
  bool bias = false;
  WeightFormat weights = {};  ///< format of all three layers' weights
};

/// The gated feed-forward network of current Transformers (Shazeer 2020, arXiv:2002.05202), like
/// LlamaMLP in Hugging Face's Transformers:
///
///   output = dropout(f(x · W_gateᵀ) ∘ (x · W_upᵀ)) · W_downᵀ
///
/// With `bias`, a bias is added after each of the three matrix products. Parameters, initially
/// zero: "gate_proj.weight" and "up_proj.weight" (dim_feedforward, d_model), "down_proj.weight"
/// (d_model, dim_feedforward), and, with `bias`, "gate_proj.bias", "up_proj.bias" and
/// "down_proj.bias".
class ATTN_API GatedFeedForward : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  explicit GatedFeedForward(const GatedFeedForwardOptions& options);

  const GatedFeedForwardOptions& options() const noexcept { return options_; }

  /// `x` and `output` are (N, d_model) or (B, N, d_model) and may have any strides. `output` may be
  /// `x` itself; otherwise the two must not overlap. `x` and `output` may have any element types,
  /// as in Linear; the values in between are float32. Needs memory for 2·B·N·dim_feedforward
  /// floats.
  ///
  /// Error: each Linear and the activation have the errors stated in their headers; the last layer
  /// multiplies the earlier errors by its weights.
  ///
  /// Throws kInvalidArgument for a null data pointer, an undefined activation or a dropout
  /// probability outside [0, 1]. May also throw kShapeMismatch, kSizeOverflow or std::bad_alloc. If
  /// it throws, `output` is unchanged.
  ///
  /// Intermediates: "gate_proj.output", "up_proj.output", "hidden" (the last layer's input) and
  /// "down_proj.output".
  void forward(const ConstAnyTensor& x, const AnyTensor& output, const Dropout& dropout = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. In addition to the
  /// inputs of the three matrix products, the tape keeps the outputs of gate_proj and up_proj. The
  /// backward pass recomputes f from the output of gate_proj.
  Variable forward(const Variable& x, const Dropout& dropout = {}) const;

 private:
  GatedFeedForwardOptions options_;
  Linear gate_proj_, up_proj_, down_proj_;
};

}  // namespace attn
