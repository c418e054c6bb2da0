#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class RecurrentLayers;
class Variable;

struct RecurrentOptions {
  std::int64_t input_size = 0;   ///< E, width of the input
  std::int64_t hidden_size = 0;  ///< H, width of the state and of the output
  /// Each layer after the first reads the outputs of the previous layer.
  std::int64_t num_layers = 1;
  bool bias = true;
};

/// The states before and after a sequence: (num_layers, B, H), or (num_layers, H) for a sequence
/// without the dimension B. The last row belongs to the last layer.
struct RecurrentStates {
  ConstTensor h_0 = {};  ///< states before the first step; zeros by default
  Tensor h_n = {};       ///< receives the states after the last step; may be none or h_0
};

enum class RecurrentActivation : int { kTanh, kRelu };

/// A recurrent network (Elman 1990; torch.nn.RNN with batch_first):
///
///   h_t = tanh(W_ih x_t + b_ih + W_hh h_(t−1) + b_hh)        or relu
///
/// Parameters of each layer l, with PyTorch's names and layouts, all initially zero: "weight_ih_l0"
/// (H, E; for later layers H, H), "weight_hh_l0" (H, H), and, with bias, "bias_ih_l0" (H) and
/// "bias_hh_l0" (H).
class ATTN_API RNN : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  explicit RNN(const RecurrentOptions& options,
               RecurrentActivation activation = RecurrentActivation::kTanh);

  const RecurrentOptions& options() const noexcept;

  /// `x` is (B, N, E) and `output` (B, N, H). Both may omit B. They may have any strides and must
  /// not overlap. `output` receives the last layer's h_t. The bits of a sequence's outputs do not
  /// depend on the other sequences. If you split a sequence into parts and start each part with the
  /// final state of the previous one, the results are bit-identical to the results for the whole
  /// sequence.
  ///
  /// Error: one step adds at most 3e-7 + (E + H + 2) · 6e-8 · (Σ|W x| + Σ|W h| + Σ|b|) to the error
  /// of h_(t−1).
  ///
  /// Throws kInvalidArgument for a null data pointer. May also throw kShapeMismatch, kSizeOverflow
  /// or std::bad_alloc. If it throws, outputs are unchanged.
  ///
  /// Intermediates: "output_l0" (B, N, H) for the first layer, and so on.
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x` and `h_0`. `h_0`
  /// may be none. If `h_n` is not null, it receives the states after the last step. Gradients flow
  /// backwards through time, t = N … 1:
  ///
  ///   ds_t = f'(s_t) ∘ dh_t,   dh_(t−1) = dy_(t−1) + W_hhᵀ ds_t,   dx_t = W_ihᵀ ds_t
  ///   dW_hh = Σ ds_t h_(t−1)ᵀ,   dW_ih = Σ ds_t x_tᵀ,   db = Σ ds_t
  ///
  /// If dh_t is 0, so is ds_t, whatever the value of x_t. Tokens after the last one that
  /// contributes to the loss therefore do not affect any gradient. The tape keeps only the layers'
  /// outputs; the backward pass recomputes the sums s_t.
  ///
  /// Error, to first order: if δ is the error of s_t (the sum before f in the forward pass), ds_t
  /// is within (1e-6 + δ)·|dh_t| of the exact value for the same dh_t; for relu it is exact for the
  /// computed s_t. The error of a sum of n products is at most n·6e-8·Σ|terms|, and the error of a
  /// sum over tokens is at most (1.6e-5 + 1e-9·B·N)·Σ|terms|.
  ///
  /// Throws the same errors as forward() for tensors.
  Variable forward(const Variable& x, const Variable& h_0, Variable* h_n = nullptr) const;
  Variable forward(const Variable& x) const;

 private:
  std::shared_ptr<RecurrentLayers> layers_;
  RecurrentActivation activation_;
};

}  // namespace attn
