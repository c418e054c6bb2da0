#pragma once

#include <algorithm>

#include "attention/check_attention.hpp"
#include "attn/training/attention_backward.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/training/training_table.hpp"
#include "runtime/execution.hpp"

namespace attn::training {

using kernels::index;

/// A checked call of attention's backward pass.
struct BackwardProblem : AttentionProblem {
  ConstTensor forward_output;        ///< (B, Hq, Nq, Dv)
  ConstTensor output_gradient;       ///< (B, Hq, Nq, Dv)
  ConstTensor log_sum_exp;           ///< (B, Hq, Nq)
  ConstTensor log_sum_exp_gradient;  ///< (B, Hq, Nq), or none
  /// The gradients of query, key and value have rank 4, the gradient of the bias is broadcast to
  /// (B, Hq, Nq, size of its last dimension), and the gradients of relative keys and values are
  /// broadcast to (Hq, 2k+1, D) and (Hq, 2k+1, Dv). Dimensions that are summed over have stride 0.
  AttentionGradients gradients;
};

/// The chunks of keys in which the backward pass processes each entry. Their size depends only on
/// the entry's own number of keys, on the heads and on the instruction set.
class KeyChunks {
 public:
  KeyChunks(const BackwardProblem& p, const kernels::TrainingTable& kernels,
            runtime::Execution& run)
      : problem_(p),
        kernels_(kernels),
        first_(run.take<index>(p.entries() + 1, "attention gradients")) {
    first_[0] = 0;
    for (index e = 0; e < p.entries(); ++e) {
      first_[e + 1] = first_[e] + kernels::ceil_divide(p.keys_of(e), keys(e));
      most_keys_ = std::max(most_keys_, keys(e));
    }
  }

  /// The number of keys in a chunk of entry e; its last chunk may be shorter.
  index keys(index e) const noexcept {
    return kernels_.gradient_keys(problem_.keys_of(e), problem_.key_heads);
  }
  index most_keys() const noexcept { return most_keys_; }
  /// The number of chunks of entry e.
  index count(index e) const noexcept { return first_[e + 1] - first_[e]; }
  /// The number of chunks of all entries.
  index total() const noexcept { return first_[problem_.entries()]; }
  /// The index of a chunk of a query head, among all chunks of all entries and query heads.
  index index_of(index e, index h, index chunk) const noexcept {
    return first_[e] * problem_.query_heads + h * count(e) + chunk;
  }

 private:
  const BackwardProblem& problem_;
  const kernels::TrainingTable& kernels_;
  index* first_;  ///< (entries + 1): number of chunks of earlier entries
  index most_keys_ = 0;
};

/// Checks the arguments of scaled_dot_product_attention_backward(). Throws for invalid arguments.
BackwardProblem check_backward(const ConstTensor& query, const ConstTensor& key,
                               const ConstTensor& value, const ConstTensor& output,
                               const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
                               const AttentionGradients& gradients,
                               const AttentionOptions& options);

}  // namespace attn::training
