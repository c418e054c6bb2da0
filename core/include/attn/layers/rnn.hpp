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
  std::int64_t input_size = 0;   ///< E, width of what comes in
  std::int64_t hidden_size = 0;  ///< H, width of the state and of the output
  std::int64_t num_layers = 1;   ///< each but the first reads the outputs of the one before
  bool bias = true;
};

/// The states around a sequence: (num_layers, B, H), or (num_layers, H) for a sequence without B.
/// The last layer's is the last row.
struct RecurrentStates {
  ConstTensor h_0 = {};  ///< before the first step; zeros when left out
  Tensor h_n = {};       ///< after the last step, when given; may be h_0
};

enum class RecurrentActivation : int { kTanh, kRelu };

/// A recurrent network (Elman 1990; torch.nn.RNN with batch_first):
///
///   h_t = tanh(W_ih x_t + b_ih + W_hh h_(t−1) + b_hh)        or relu
///
/// Parameters, with PyTorch's names and layouts, zeros at first, for each layer l: "weight_ih_l0"
/// (H, E; for later layers H, H), "weight_hh_l0" (H, H), and with bias "bias_ih_l0" (H),
/// "bias_hh_l0" (H).
class ATTN_API RNN : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, kSizeOverflow, std::bad_alloc.
  explicit RNN(const RecurrentOptions& options,
               RecurrentActivation activation = RecurrentActivation::kTanh);

  const RecurrentOptions& options() const noexcept;

  /// x (B, N, E), output (B, N, H): the last layer's h_t; or both without B. Any strides; no
  /// overlap. Bits of a sequence do not depend on the others, and a sequence in parts, each
  /// beginning with the state that the one before ended with, gives the bits of the whole.
  ///
  /// Error: one step adds at most 3e-7 + (E + H + 2) · 6e-8 · (Σ|W x| + Σ|W h| + Σ|b|) to the error
  /// that h_(t−1) brings along.
  ///
  /// Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow, std::bad_alloc; outputs
  /// are then untouched.
  ///
  /// Intermediates: "output_l0" (B, N, H) of the first layer, and so on.
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// The same, recorded on the tape of x and h_0, which may be none; h_n, if not null, is given the
  /// states after the last step. Gradients come back through time, t = N … 1:
  ///
  ///   ds_t = f'(s_t) ∘ dh_t,   dh_(t−1) = dy_(t−1) + W_hhᵀ ds_t,   dx_t = W_ihᵀ ds_t
  ///   dW_hh = Σ ds_t h_(t−1)ᵀ,   dW_ih = Σ ds_t x_tᵀ,   db = Σ ds_t
  ///
  /// and where dh_t is 0, ds_t is, whatever x_t holds: what comes after the last token that counts
  /// reaches no gradient. Of a call only the layers' outputs are kept; the sums s_t are formed
  /// anew.
  ///
  /// Error, to first order: with δ the error of s_t, that of the forward pass before f, ds_t is
  /// within (1e-6 + δ)·|dh_t| of the exact value for the same dh_t; for relu it is that of the
  /// computed s_t. A sum of n products has n·6e-8·Σ|terms|, and one over tokens (1.6e-5 + 1e-9·B·N)
  /// of its terms' magnitudes.
  ///
  /// Throws as forward() of tensors does.
  Variable forward(const Variable& x, const Variable& h_0, Variable* h_n = nullptr) const;
  Variable forward(const Variable& x) const;

 private:
  std::shared_ptr<RecurrentLayers> layers_;
  RecurrentActivation activation_;
};

}  // namespace attn
