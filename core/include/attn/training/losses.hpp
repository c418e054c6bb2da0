#pragma once

#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/tensor_view.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// What becomes of the losses of single targets or elements.
enum class LossReduction : int {
  kMean,  ///< their sum, divided by the number of those that count
  kSum,
};

struct CrossEntropyOptions {
  /// Targets of this value do not count, and pass no gradient on.
  std::int64_t ignore_index = -100;
  /// Between 0 and 1: how much of the target's probability is spread over all classes alike.
  float label_smoothing = 0;
  LossReduction reduction = LossReduction::kMean;
};

/// The cross entropy of logits x with the classes that they should have predicted, as
/// torch.nn.functional.cross_entropy; with s = label_smoothing and C classes, of one target t:
///
///   (1 − s) · (lse − x_t) + s · (lse − mean_c x_c),   lse = ln Σ_c exp(x_c)
///
/// logits (N, C) or (B, N, C), targets (N) or (B, N), or (B·N). The loss has rank 0. Its gradient,
/// (exp(x_c − lse) − (1 − s)·[c = t] − s/C) / (targets that count), is computed in the same pass
/// and kept on the tape. A logit of −∞ is a class that cannot be: its gradient is that of a
/// probability of 0.
///
/// Logits may be of any size: the largest of a row is taken off before exp.
///
/// Same bits for any number of threads. Error: of a row's loss 2e-6, of the loss another rounding
/// to float; of the gradient of one target 2e-6 of the probability, and 3e-7 besides.
///
/// Throws kShapeMismatch, also for no classes; kInvalidArgument for a target outside the classes
/// (saying which and where), a mean over no targets, a label_smoothing outside [0, 1], and as all
/// that is recorded; std::bad_alloc. A sum over no targets is 0.
ATTN_API Variable cross_entropy(const Variable& logits, const IdView& targets,
                                const CrossEntropyOptions& options = {});

/// The same value without a tape, of logits with any strides.
ATTN_API float cross_entropy(const ConstTensor& logits, const IdView& targets,
                             const CrossEntropyOptions& options = {},
                             Context& context = Context::default_context());
/// The same, and in the same pass the gradient with respect to the logits, which has the bits of
/// that on a tape. `gradient` has the shape of the logits and any strides, and may be these; after
/// an error it is untouched.
ATTN_API float cross_entropy_with_gradient(const ConstTensor& logits, const IdView& targets,
                                           const Tensor& gradient,
                                           const CrossEntropyOptions& options = {},
                                           Context& context = Context::default_context());

/// Σ (prediction − target)², divided by the number of elements unless the reduction is kSum; as
/// torch.nn.functional.mse_loss. Both have one shape, of any rank. The loss has rank 0; gradients
/// are 2·(prediction − target), divided likewise, and its opposite.
///
/// Same bits for any number of threads. Error: one rounding to float of the loss, three of a
/// gradient.
///
/// Throws kShapeMismatch; kInvalidArgument for a mean over no elements, and as all that is
/// recorded; std::bad_alloc.
ATTN_API Variable mse_loss(const Variable& prediction, const Variable& target,
                           LossReduction reduction = LossReduction::kMean);
/// The same with a target that is given: of any strides, copied.
ATTN_API Variable mse_loss(const Variable& prediction, const ConstTensor& target,
                           LossReduction reduction = LossReduction::kMean);
/// The same value without a tape, of any strides.
ATTN_API float mse_loss(const ConstTensor& prediction, const ConstTensor& target,
                        LossReduction reduction = LossReduction::kMean,
                        Context& context = Context::default_context());
/// The same, and the gradient with respect to the prediction, which has the bits of that on a tape:
/// `gradient` has the shape of both and any strides, and may be one of them; after an error it is
/// untouched.
ATTN_API float mse_loss_with_gradient(const ConstTensor& prediction, const ConstTensor& target,
                                      const Tensor& gradient,
                                      LossReduction reduction = LossReduction::kMean,
                                      Context& context = Context::default_context());

}  // namespace attn
