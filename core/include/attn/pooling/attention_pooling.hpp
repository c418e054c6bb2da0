#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class PackedMatrix;
class Variable;

/// Defines how a score a(q, k) is computed from a query q and a key k, and how weights are computed
/// from scores.
class ScoringFunction {
 public:
  enum class Kind : int { kScaledDot, kGaussian, kBoxcar, kEpanechnikov, kAverage };

  /// a = scale · q·k, with scale 1/√D by default. Weights are the softmax of the scores.
  static constexpr ScoringFunction scaled_dot(std::optional<float> scale = {}) {
    return {Kind::kScaledDot, scale};
  }
  /// a = −‖q − k‖² / (2·width²); weights are the softmax of the scores, so even a query far from
  /// all keys attends to the nearest ones.
  static constexpr ScoringFunction gaussian(float width = 1) { return {Kind::kGaussian, width}; }
  /// a = 1 where ‖q − k‖ < width, else 0; weights are a / Σa.
  static constexpr ScoringFunction boxcar(float width = 1) { return {Kind::kBoxcar, width}; }
  /// a = max(1 − ‖q − k‖ / width, 0); weights are a / Σa. D2L calls this kernel Epanechnikov; the
  /// statistical literature calls it triangular.
  static constexpr ScoringFunction epanechnikov(float width = 1) {
    return {Kind::kEpanechnikov, width};
  }
  /// a = 1; weights are a / Σa. This is average pooling, D2L's constant kernel. Queries and keys
  /// are not read.
  static constexpr ScoringFunction average() { return {Kind::kAverage, {}}; }

  constexpr Kind kind() const { return kind_; }
  /// The scale of scaled_dot() or the width of a kernel; none if the function has no such parameter
  /// or uses its default.
  constexpr std::optional<float> parameter() const { return parameter_; }

 private:
  constexpr ScoringFunction(Kind kind, std::optional<float> parameter)
      : kind_(kind), parameter_(parameter) {}

  Kind kind_;
  std::optional<float> parameter_;
};

/// Options of attention pooling: which keys are excluded, and which optional outputs are written.
/// With tensors of rank 2, B is 1, and `scores` and `weights` are (Nq, Nk).
struct AttentionPoolingOptions {
  /// Hard attention: the key with the highest score has weight 1, and all others have weight 0. If
  /// several keys have the highest score, the first of them wins. If one of a query's scores is
  /// NaN, that query's result is NaN too.
  bool hard = false;
  /// A query attends to a key where the mask is true (not 0). The mask broadcasts to (B, Nq, Nk),
  /// aligned at the last dimension.
  ConstMask mask = {};
  /// Queries attend only to the first valid_lens keys. Shape (B) or (B, Nq), values in [0, Nk].
  LengthsView valid_lens = {};
  /// The scores (B, Nq, Nk): a(q, k) for attended keys. For other keys, the score is −∞ if the
  /// weights are softmax(a), and 0 if they are a / Σa.
  Tensor scores = {};
  Tensor weights = {};  ///< (B, Nq, Nk)
};

/// Attention pooling (D2L 11.2 and 11.3; Nadaraya 1964, Watson 1964):
///
///   output_i = Σ_j weight_ij · v_j
///
/// `query` is (B, Nq, D), `key` (B, Nk, D), `value` (B, Nk, Dv) and `output` (B, Nq, Dv). All may
/// omit B. They may have any strides; `output` must not overlap an input. Memory beyond inputs and
/// outputs is linear in Nq and Nk.
///
/// Excluded keys and values do not enter the arithmetic, nor does the value of a key whose boxcar
/// or Epanechnikov score is 0. A query with nothing to attend to, or whose boxcar or Epanechnikov
/// scores are all 0, gets zeros. NaN in an attended key or value reaches the output. The bits of a
/// sequence's results depend only on the sequence itself and the instruction set, not on the rest
/// of the batch or the number of threads.
///
/// Error: the relative error of distances is at most (D + 4)·6e-8. If scores are within ε of the
/// exact ones, the relative error of weights is at most 2ε + (Nk + 16)·6e-8.
///
/// Throws kInvalidArgument for lengths outside [0, Nk], a null data pointer, a width outside
/// [1e-18, 1e18], and, with scaled_dot, for D = 0 or a scale that is not finite. May also throw
/// kShapeMismatch, kSizeOverflow or std::bad_alloc. If it throws, outputs are unchanged.
ATTN_API void attention_pooling(const ConstTensor& query, const ConstTensor& key,
                                const ConstTensor& value, const Tensor& output,
                                const ScoringFunction& scoring,
                                const AttentionPoolingOptions& options = {},
                                Context& context = Context::default_context());

/// Additive attention (Bahdanau et al. 2015, arXiv:1409.0473; D2L 11.3.3):
///
///   a(q, k) = w_vᵀ tanh(W_q q + W_k k),   output_i = Σ_j softmax_j(a(q_i, k_j)) v_j
///
/// Parameters, with D2L's names, all initially zero: "W_k.weight" (num_hiddens, key_dim),
/// "W_q.weight" (num_hiddens, query_dim) and "w_v.weight" (1, num_hiddens). No tensor of size (Nq,
/// Nk, num_hiddens) is formed. Unlike in D2L, there is no dropout on the weights in training.
class ATTN_API AdditiveAttention : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  AdditiveAttention(std::int64_t query_dim, std::int64_t key_dim, std::int64_t num_hiddens);

  std::int64_t query_dim() const noexcept { return query_dim_; }
  std::int64_t key_dim() const noexcept { return key_dim_; }
  std::int64_t num_hiddens() const noexcept { return num_hiddens_; }

  /// `query` is (B, Nq, query_dim), `key` (B, Nk, key_dim), `value` (B, Nk, Dv) and `output` (B,
  /// Nq, Dv). All may omit B. In all other respects, the call works like attention_pooling().
  ///
  /// Intermediates: "projected_queries" (B, Nq, num_hiddens), the products W_q q; "projected_keys"
  /// (B, Nk, num_hiddens), the products W_k k; "scores" and "weights" (B, Nq, Nk); "output".
  void forward(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
               const Tensor& output, const AttentionPoolingOptions& options = {},
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Computes W_k · key once, for keys that several calls share. `key` is (B, Nk, key_dim) and
  /// `projected` (B, Nk, num_hiddens). Both may omit B. With `projected` as its input,
  /// forward_projected() gives the same bits as forward().
  void project_keys(const ConstTensor& key, const Tensor& projected,
                    Context& context = Context::default_context()) const;
  void forward_projected(const ConstTensor& query, const ConstTensor& projected_keys,
                         const ConstTensor& value, const Tensor& output,
                         const AttentionPoolingOptions& options = {},
                         Context& context = Context::default_context(),
                         Intermediates* intermediates = nullptr) const;

  /// These functions work like the functions for tensors, but record the computation on the tape of
  /// the variables. Setting options.scores or options.weights is an error: use Tape::watch()
  /// instead. Gradients are the same as in attention_pooling() for variables (see
  /// attn/training/pooling.hpp). If da is the gradient of a score and t = tanh(W_q q + W_k k), the
  /// remaining gradients are
  ///
  ///   dw_v = Σ da·t,   d(W_q q) = w_v ∘ Σ_k da·(1 − t²),   d(W_k k) = w_v ∘ Σ_q da·(1 − t²)
  ///
  /// The relative error of 1 − t² is at most 1e-6.
  Variable forward(const Variable& query, const Variable& key, const Variable& value,
                   const AttentionPoolingOptions& options = {}) const;
  Variable project_keys(const Variable& key) const;
  Variable forward_projected(const Variable& query, const Variable& projected_keys,
                             const Variable& value,
                             const AttentionPoolingOptions& options = {}) const;

 private:
  std::int64_t query_dim_, key_dim_, num_hiddens_;
  Tensor column_weights_;
  std::shared_ptr<PackedMatrix> query_, key_;
};

}  // namespace attn
