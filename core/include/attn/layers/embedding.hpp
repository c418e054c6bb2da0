#pragma once

#include <cstdint>
#include <optional>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct EmbeddingOptions {
  std::int64_t num_embeddings = 0;  ///< size of the vocabulary
  std::int64_t embedding_dim = 0;   ///< E
  /// The row of a token that stands for padding, from the end if negative: zero after
  /// initialisation. Looked up like any other, as in PyTorch.
  std::optional<std::int64_t> padding_idx = {};
  /// Multiplies rows by √E, as Transformers do before they add a positional encoding (Vaswani et
  /// al. 2017, section 3.4; D2L 11.7.4).
  bool scale_by_sqrt_dim = false;
};

/// A table of learned vectors, one per token of a vocabulary, as torch.nn.Embedding:
///
///   output[…, :] = weight[ids[…], :] (· √E)
///
/// Parameter: "weight" (num_embeddings, embedding_dim), zeros at first. Values are copied exactly;
/// scaled ones are one float product with √E rounded to float.
class ATTN_API Embedding : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1 or a padding_idx outside the vocabulary;
  /// kSizeOverflow, std::bad_alloc.
  explicit Embedding(const EmbeddingOptions& options);

  const EmbeddingOptions& options() const noexcept { return options_; }

  /// The weights drawn by fill_normal, with deviation 1 as PyTorch; the row of padding zero.
  void initialize_normal(const RandomStream& random, float deviation = 1,
                         Context& context = Context::default_context());

  /// ids (N) or (B, N), output (N, E) or (B, N, E), any strides. Throws kShapeMismatch, and
  /// kInvalidArgument for null data or an index outside the vocabulary; output is then untouched.
  void forward(const IdView& ids, const Tensor& output,
               Context& context = Context::default_context()) const;

 private:
  EmbeddingOptions options_;
  Tensor weight_;
};

}  // namespace attn
