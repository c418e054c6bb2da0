#pragma once

#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;

/// Positions as a learned table, as in BERT ("position_embeddings") and GPT-2 ("wpe"), there a
/// torch.nn.Embedding: row p of the table is added to the token at position p, then comes dropout.
/// Parameter: "weight" (max_length, d_model); zeros at first.
class ATTN_API LearnedPositionalEncoding : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, kSizeOverflow, std::bad_alloc.
  LearnedPositionalEncoding(std::int64_t max_length, std::int64_t d_model);

  std::int64_t max_length() const noexcept { return max_length_; }
  std::int64_t d_model() const noexcept { return d_model_; }

  /// The table drawn by fill_normal with mean 0: deviation 0.02 as in BERT and GPT-2, 1 as in
  /// torch.nn.Embedding; from stream 0 of the seed, as the first matrix of a layer is that gets the
  /// same seed: give it another. Throws kInvalidArgument unless the deviation is finite and not
  /// negative.
  void initialize_normal(std::uint64_t seed, float deviation = 0.02F,
                         Context& context = Context::default_context());

  /// output[b, i] = dropout(x[b, i] + weight[start + i]), for x (B, N, d_model) or (N, d_model) and
  /// output of the same shape. Any strides; output may be x itself, otherwise they must not
  /// overlap. The sum is one float addition, so within 6e-8 of it relatively, and dropout is
  /// apply_dropout on the sum. `start` is the position of the first token: with a key/value cache,
  /// the past length.
  ///
  /// Throws kShapeMismatch, and kInvalidArgument for null data, a negative start, positions past
  /// max_length or a dropout probability outside [0, 1]; output is then untouched.
  void forward(const ConstTensor& x, const Tensor& output, std::int64_t start = 0,
               const Dropout& dropout = {}, Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x. The gradient of the table is the sum over the batch, that
  /// of x goes through.
  Variable forward(const Variable& x, std::int64_t start = 0, const Dropout& dropout = {}) const;

 private:
  std::int64_t max_length_;
  std::int64_t d_model_;
  Tensor weight_;
};

}  // namespace attn
