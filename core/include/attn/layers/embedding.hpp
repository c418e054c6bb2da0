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
  /// The row of the padding token, counted from the end if negative. It is zero after
  /// initialisation and is looked up like any other row, as in PyTorch.
  std::optional<std::int64_t> padding_idx = {};
  /// Multiplies rows by √E, as Transformers do before adding a positional encoding (Vaswani et al.
  /// 2017, section 3.4; D2L 11.7.4).
  bool scale_by_sqrt_dim = false;
  /// The format of the table. A tied output layer uses the table in the same format.
  WeightFormat weights = {};
};

/// A table of learned vectors, one for each token of a vocabulary, like torch.nn.Embedding:
///
///   output[…, :] = weight[ids[…], :] (· √E)
///
/// Parameter: "weight" (num_embeddings, embedding_dim), initially zeros. Values are copied exactly.
/// With scaling, each value is multiplied by √E in one float product, and √E itself is rounded to
/// float.
class ATTN_API Embedding : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, int8 weights, or a padding_idx outside the
  /// vocabulary. May also throw kSizeOverflow or std::bad_alloc.
  explicit Embedding(const EmbeddingOptions& options);

  const EmbeddingOptions& options() const noexcept { return options_; }

  /// Draws the weights with fill_normal, by default with standard deviation 1 as in PyTorch, and
  /// zeroes the row of padding_idx.
  void initialize_normal(const RandomStream& random, float deviation = 1,
                         Context& context = Context::default_context());

  /// `ids` are (N) or (B, N); `output` is (N, E) or (B, N, E). `output` may have any strides and
  /// any element type, to which each number is rounded once. Throws kInvalidArgument for a null
  /// data pointer or an id outside the vocabulary. May also throw kShapeMismatch or std::bad_alloc.
  /// If it throws, `output` is unchanged.
  void forward(const IdView& ids, const AnyTensor& output,
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on a tape, which copies the ids. The
  /// gradient of a row of the table is the sum of dy over the tokens that use the row, in token
  /// order, times √E if rows are scaled. For the row of the padding token, the gradient is 0, as in
  /// PyTorch. A layer tied to the table adds its own gradient.
  ///
  /// Error, to first order: for n tokens that use a row, the row's gradient is within (6e-6 +
  /// 1e-9·n) · Σ|dy| (· √E) of the exact value. If the table receives no other gradient, the
  /// backward pass writes the whole table's gradient; otherwise it only updates the rows that are
  /// used. Throws kUnsupported for weights that are not float32.
  Variable forward(Tape& tape, const IdView& ids) const;

 private:
  friend class Linear;
  float factor() const noexcept;
  /// The row of the padding token; negative if there is none.
  std::int64_t padding_row() const noexcept;

  EmbeddingOptions options_;
  Tensor weight_;                         ///< the table if it is stored as float32, otherwise none
  std::shared_ptr<PackedMatrix> packed_;  ///< the table if it is stored in another type
};

}  // namespace attn
