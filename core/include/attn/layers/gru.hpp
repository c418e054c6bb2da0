#pragma once

#include <memory>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Gated recurrent units (Cho et al. 2014, arXiv:1406.1078; torch.nn.GRU with batch_first):
///
///   r_t = σ(W_ir x_t + b_ir + W_hr h_(t−1) + b_hr)
///   z_t = σ(W_iz x_t + b_iz + W_hz h_(t−1) + b_hz)
///   n_t = tanh(W_in x_t + b_in + r_t ⊙ (W_hn h_(t−1) + b_hn))
///   h_t = (1 − z_t) ⊙ n_t + z_t ⊙ h_(t−1)
///
/// Parameters of each layer l, with PyTorch's names and layouts, all initially zero: "weight_ih_l0"
/// (3·H, E; for later layers 3·H, H) with the rows of r, z and n stacked in this order,
/// "weight_hh_l0" (3·H, H), and, with bias, "bias_ih_l0" (3·H) and "bias_hh_l0" (3·H).
class ATTN_API GRU : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  explicit GRU(const RecurrentOptions& options);

  const RecurrentOptions& options() const noexcept;

  /// Like RNN::forward, with the same rules for strides, overlap, bit-identical results, errors and
  /// intermediates. The relative error of σ and tanh is at most 4e-7.
  void forward(const ConstTensor& x, const Tensor& output, const RecurrentStates& states = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like RNN::forward for variables, but with three gates. The memory use and the rule for
  /// gradients of 0 are the same. The gradients are:
  ///
  ///   dn = dh_t ∘ (1 − z_t) ∘ (1 − n_t²),   dz = dh_t ∘ (h_(t−1) − n_t) ∘ z_t ∘ (1 − z_t)
  ///   dr = dn ∘ (W_hn h_(t−1) + b_hn) ∘ r_t ∘ (1 − r_t)
  ///   dh_(t−1) = dy_(t−1) + z_t ∘ dh_t + W_hrᵀ dr + W_hzᵀ dz + W_hnᵀ (r_t ∘ dn)
  ///
  /// Error, to first order: if δ is the error of the products W x + b and W h + b, dr, dz and dn
  /// are within (3e-6 + 2δ) · m² · |dh_t| of the exact values for the same dh_t, where m = 1 +
  /// |h_(t−1)| + |W_hn h_(t−1) + b_hn|.
  Variable forward(const Variable& x, const Variable& h_0, Variable* h_n = nullptr) const;
  Variable forward(const Variable& x) const;

 private:
  std::shared_ptr<RecurrentLayers> layers_;
};

}  // namespace attn
