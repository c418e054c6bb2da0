#pragma once

#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/tensor_view.hpp"
#include "attn/training/tape.hpp"

namespace attn {

/// How the losses of single targets or elements are combined into one.
enum class LossReduction : int {
  kMean,  ///< the mean of the losses, without ignored targets
  kSum,
};

struct CrossEntropyOptions {
  /// Targets with this value are ignored: they add nothing to the loss and have no gradient.
  std::int64_t ignore_index = -100;
  /// The fraction of the target's probability, from 0 to 1, that is spread evenly over all classes.
  float label_smoothing = 0;
  LossReduction reduction = LossReduction::kMean;
};

/// The cross entropy between logits x and target classes, like torch.nn.functional.cross_entropy.
/// With s = label_smoothing and C classes, the loss of one target t is
///
///   (1 − s) · (lse − x_t) + s · (lse − mean_c x_c),   lse = ln Σ_c exp(x_c)
///
/// `logits` are (N, C) or (B, N, C); `targets` are (N), (B, N) or (B·N). The loss has rank 0. Its
/// gradient is computed in the same pass and kept on the tape: (exp(x_c − lse) − (1 − s)·[c = t] −
/// s/C) / (number of targets that are not ignored), or the numerator alone if the reduction is
/// kSum. A logit of −∞ means that the class is impossible; its gradient is computed with a
/// probability of 0.
///
/// Logits may have any magnitude: the largest of a row is subtracted before exp.
///
/// Results are bit-identical for any number of threads. Error: the loss of one target is within
/// 2e-6 of the exact value, and the total loss is then rounded once to float. The numerator of each
/// element of the gradient is within 2e-6·p + 3e-7 of the exact value, where p is the probability
/// of the element's class.
///
/// Throws kShapeMismatch if the shapes do not fit or there are no classes. Throws kInvalidArgument
/// for a target that is not a class (the message gives its value and index), for a mean over no
/// targets, for a label_smoothing outside [0, 1], and in the cases listed for all functions of
/// variables in functions.hpp. May also throw std::bad_alloc. A sum over no targets is 0.
ATTN_API Variable cross_entropy(const Variable& logits, const IdView& targets,
                                const CrossEntropyOptions& options = {});

/// Computes the cross entropy without a tape. `logits` may have any strides.
ATTN_API float cross_entropy(const ConstTensor& logits, const IdView& targets,
                             const CrossEntropyOptions& options = {},
                             Context& context = Context::default_context());
/// Computes the cross entropy without a tape and, in the same pass, its gradient with respect to
/// the logits. The gradient is bit-identical to the gradient on a tape. `gradient` has the shape of
/// the logits and any strides, and may be the logits themselves. After an error, `gradient` is
/// unchanged.
ATTN_API float cross_entropy_with_gradient(const ConstTensor& logits, const IdView& targets,
                                           const Tensor& gradient,
                                           const CrossEntropyOptions& options = {},
                                           Context& context = Context::default_context());

/// Σ (prediction − target)², divided by the number of elements unless the reduction is kSum, like
/// torch.nn.functional.mse_loss. `prediction` and `target` have the same shape, of any rank. The
/// loss has rank 0. The gradient of the prediction is 2·(prediction − target), divided in the same
/// way; the gradient of the target has the opposite sign.
///
/// Results are bit-identical for any number of threads. Error: the loss is rounded to float once,
/// and a gradient three times.
///
/// Throws kShapeMismatch and std::bad_alloc. Throws kInvalidArgument for a mean over no elements,
/// and in the cases listed for all functions of variables in functions.hpp.
ATTN_API Variable mse_loss(const Variable& prediction, const Variable& target,
                           LossReduction reduction = LossReduction::kMean);
/// Takes a target that is not a variable. The target may have any strides and is copied.
ATTN_API Variable mse_loss(const Variable& prediction, const ConstTensor& target,
                           LossReduction reduction = LossReduction::kMean);
/// Computes the squared error without a tape. Tensors may have any strides.
ATTN_API float mse_loss(const ConstTensor& prediction, const ConstTensor& target,
                        LossReduction reduction = LossReduction::kMean,
                        Context& context = Context::default_context());
/// Computes the squared error without a tape, and its gradient with respect to the prediction. The
/// gradient is bit-identical to the gradient on a tape. `gradient` has the shape of both inputs and
/// any strides, and may be one of them. After an error, `gradient` is unchanged.
ATTN_API float mse_loss_with_gradient(const ConstTensor& prediction, const ConstTensor& target,
                                      const Tensor& gradient,
                                      LossReduction reduction = LossReduction::kMean,
                                      Context& context = Context::default_context());

}  // namespace attn
