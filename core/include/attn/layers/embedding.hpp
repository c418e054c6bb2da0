#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class PackedMatrix;
class Tape;
class Variable;

struct EmbeddingOptions {
  std::int64_t num_embeddings = 0;  ///< size of the vocabulary
  std::int64_t embedding_dim = 0;   ///< E
  /// The row of a token that stands for padding, from the end if negative: zero after
  /// initialisation. Looked up like any other, as in PyTorch.
  std::optional<std::int64_t> padding_idx = {};
  /// Multiplies rows by √E, as Transformers do before they add a positional encoding (Vaswani et
  /// al. 2017, section 3.4; D2L 11.7.4).
  bool scale_by_sqrt_dim = false;
  /// Of the table, and of products with an output layer that is tied to it.
  WeightFormat weights = {};
};

/// A table of learned vectors, one per token of a vocabulary, as torch.nn.Embedding:
///
///   output[…, :] = weight[ids[…], :] (· √E)
///
/// Parameter: "weight" (num_embeddings, embedding_dim), zeros at first. Values are copied exactly;
/// scaled ones are one float product with √E rounded to float.
class ATTN_API Embedding : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, a padding_idx outside the vocabulary or weights of
  /// int8; kSizeOverflow, std::bad_alloc.
  explicit Embedding(const EmbeddingOptions& options);

  const EmbeddingOptions& options() const noexcept { return options_; }

  /// The weights drawn by fill_normal, with deviation 1 as PyTorch; the row of padding zero.
  void initialize_normal(const RandomStream& random, float deviation = 1,
                         Context& context = Context::default_context());

  /// ids (N) or (B, N), output (N, E) or (B, N, E), any strides and of any type, to which each
  /// number is rounded once. Throws kShapeMismatch, kInvalidArgument for null data or an index
  /// outside the vocabulary, std::bad_alloc; output is then untouched.
  void forward(const IdView& ids, const AnyTensor& output,
               Context& context = Context::default_context()) const;

  /// The same, recorded on a tape, which copies the ids. The gradient of a row of the table is
  /// √E or 1 times the sum of dy over the tokens that have it, in their order, and 0 for the row of
  /// padding, as in PyTorch; what is tied to the table adds its own.
  ///
  /// Error, to first order: within (6e-6 + 1e-9·n) · Σ|dy| (· √E) for n equal tokens. It costs one
  /// pass over the table where nothing else has a gradient of it, and else the rows that are used.
  /// Throws kUnsupported for weights that are not float32.
  Variable forward(Tape& tape, const IdView& ids) const;

 private:
  friend class Linear;
  float factor() const noexcept;
  /// Negative without padding.
  std::int64_t padding_row() const noexcept;

  EmbeddingOptions options_;
  Tensor weight_;                         ///< none unless it is float32
  std::shared_ptr<PackedMatrix> packed_;  ///< otherwise
};

}  // namespace attn
