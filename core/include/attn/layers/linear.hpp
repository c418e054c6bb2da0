#pragma once

#include <cstdint>
#include <memory>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Embedding;
class PackedMatrix;
class Variable;

/// A dense layer, y = x · Wᵀ + b, like torch.nn.Linear. Parameters: "weight" (out_features,
/// in_features) and, with bias, "bias" (out_features). Both are initially zero.
class ATTN_API Linear : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1 or weights of int8. May also throw kSizeOverflow or
  /// std::bad_alloc.
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true,
         WeightFormat weights = {});

  /// An output layer tied to an embedding (Press & Wolf 2017, arXiv:1608.05859): y = x · weightᵀ
  /// with the embedding's weight, which is not scaled and keeps the type in which it is stored. The
  /// layer has one output for each token of the embedding. The weight remains a parameter of the
  /// embedding only: set it, read it, and read its gradient there. The gradient is the sum over
  /// both layers. This layer keeps the weight alive. Throws std::bad_alloc.
  explicit Linear(const Embedding& embedding, bool bias = false,
                  Context& context = Context::default_context());

  std::int64_t in_features() const noexcept { return in_features_; }
  std::int64_t out_features() const noexcept { return out_features_; }

  /// `x` is (N, in_features) or (B, N, in_features); `output` has the same shape with out_features
  /// as the last size. Both may have any strides and must not overlap. Intermediate: "output".
  ///
  /// `x` and `output` may have any element types. The result is computed from the exact values of x
  /// and rounded once if `output` is not float32 (see Float16 and BFloat16).
  ///
  /// Error: for the weights as stored, each output is within
  /// (in_features + 1) · 6e-8 · (Σ|x·w| + |b|) of the exact value. Storing a weight rounds it, with
  /// a relative error of at most 2^-11 for float16 and 2^-8 for bfloat16 (see Float16 and
  /// BFloat16). With either type, outputs are bit-identical to outputs with float32 weights of the
  /// same values, unless inputs are rounded (see WeightFormat).
  ///
  /// If inputs are rounded to bfloat16 and the instruction set has bfloat16 products, outputs are
  /// within the same bound of the exact value for the rounded x. Rounding x changes that value by
  /// at most 2^-8 · Σ|x·w|; it does not change a bfloat16 `x`. Magnitudes below 2^-126 then count
  /// as zero.
  ///
  /// Throws kInvalidArgument for a null data pointer. May also throw kShapeMismatch, kSizeOverflow
  /// or std::bad_alloc. If it throws, `output` is unchanged.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. Throws
  /// kUnsupported for a weight that is not float32.
  Variable forward(const Variable& x) const;

 private:
  std::int64_t in_features_;
  std::int64_t out_features_;
  ConstTensor weight_;  ///< the weight if it is stored as float32, otherwise none
  Tensor bias_;
  std::shared_ptr<PackedMatrix> packed_;
};

}  // namespace attn
