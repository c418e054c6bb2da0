#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "attn/element_type.hpp"
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
  /// With a weight_type of kBFloat16 the weight is kept in two bytes a number, in the order in
  /// which products read it and in no other: a quarter of the memory that kFloat32 takes. Such a
  /// layer is for inference.
  ///
  /// Throws kInvalidArgument for a size below 1 and for other types, kSizeOverflow, std::bad_alloc.
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true,
         ElementType weight_type = ElementType::kFloat32);

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
  /// With a bfloat16 weight, where the instruction set has products of bfloat16, x is rounded to it
  /// too: within that of the exact value of the rounded x, which is off by 2^-8 · Σ|x·w| at most;
  /// numbers below 2^-126 count as zero.
  /// Throws kShapeMismatch, kInvalidArgument for null data, kSizeOverflow, std::bad_alloc; output
  /// is then untouched. Intermediate: "output".
  void forward(const ConstTensor& x, const Tensor& output,
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// The same, recorded on the tape of x. Throws kUnsupported for a bfloat16 weight.
  Variable forward(const Variable& x) const;

 private:
  std::int64_t in_features_;
  std::int64_t out_features_;
  ConstTensor weight_;  ///< none where it is kept as bfloat16
  Tensor bias_;
  std::shared_ptr<PackedMatrix> packed_;
};

}  // namespace attn
