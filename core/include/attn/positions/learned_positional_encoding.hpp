#pragma once

#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;

/// A learned table of positions, as in BERT ("position_embeddings") and GPT-2 ("wpe"), where it is
/// a torch.nn.Embedding. Adds row p of the table to the token at position p, then applies dropout.
/// Parameter: "weight" (max_length, d_model), initially zeros.
class ATTN_API LearnedPositionalEncoding : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  LearnedPositionalEncoding(std::int64_t max_length, std::int64_t d_model);

  std::int64_t max_length() const noexcept { return max_length_; }
  std::int64_t d_model() const noexcept { return d_model_; }

  /// Draws the table with fill_normal and mean 0. The deviation is 0.02 in BERT and GPT-2 and 1 in
  /// torch.nn.Embedding. The draw uses stream 0 of the seed, like the first matrix of a layer, so
  /// choose a seed that your layers do not use. Throws kInvalidArgument unless the deviation is
  /// finite and not negative.
  void initialize_normal(std::uint64_t seed, float deviation = 0.02F,
                         Context& context = Context::default_context());

  /// Computes output[b, i] = dropout(x[b, i] + weight[start + i]) for `x` (B, N, d_model) or (N,
  /// d_model) and `output` of the same shape. Both may have any strides. `output` may be `x`
  /// itself; otherwise the two must not overlap. The sum is one float addition, with a relative
  /// error of at most 6e-8, followed by apply_dropout. `start` is the position of the first token;
  /// with a key/value cache, pass the past length.
  ///
  /// Throws kInvalidArgument for a null data pointer, a negative start, positions past max_length
  /// or a dropout probability outside [0, 1]. May also throw kShapeMismatch. If it throws, `output`
  /// is unchanged.
  void forward(const ConstTensor& x, const Tensor& output, std::int64_t start = 0,
               const Dropout& dropout = {}, Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. The gradient of
  /// the table is summed over the batch. `x` receives the gradient of the sum unchanged.
  Variable forward(const Variable& x, std::int64_t start = 0, const Dropout& dropout = {}) const;

 private:
  std::int64_t max_length_;
  std::int64_t d_model_;
  Tensor weight_;
};

}  // namespace attn
