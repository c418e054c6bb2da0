#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Embedding;
class PackedMatrix;
class Variable;

/// A dense layer: y = x · Wᵀ + b, as torch.nn.Linear. Parameters: "weight" (out_features,
/// in_features) and, with bias, "bias" (out_features); zeros at first.
class ATTN_API Linear : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, kSizeOverflow, std::bad_alloc.
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true);

  /// An output layer that is tied to an embedding (Press & Wolf 2017, arXiv:1608.05859): y = x ·
  /// weightᵀ with the embedding's weight, not scaled, and so as many outputs as it has tokens. The
  /// weight stays a parameter of the embedding alone, where it is set and read, and whose gradient
  /// has both parts; this layer keeps it alive. Throws std::bad_alloc.
  explicit Linear(const Embedding& embedding, bool bias = false,
                  Context& context = Context::default_context());

  std::int64_t in_features() const noexcept { return in_features_; }
  std::int64_t out_features() const noexcept { return out_features_; }

  /// x (N, in_features) or (B, N, in_features); output the same with out_features. Any strides; no
  /// overlap. Each output is within (in_features + 1) · 6e-8 · (Σ|x·w| + |b|) of the exact value.
  /// Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow, std::bad_alloc; output
  /// is then untouched. Intermediate: "output".
  void forward(const ConstTensor& x, const Tensor& output,
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// The same, recorded on the tape of x.
  Variable forward(const Variable& x) const;

 private:
  std::int64_t in_features_;
  std::int64_t out_features_;
  ConstTensor weight_;
  Tensor bias_;
  std::shared_ptr<PackedMatrix> packed_;
};

}  // namespace attn
