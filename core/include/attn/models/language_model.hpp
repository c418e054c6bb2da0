#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// What a language model has around its stack of layers. load_language_model() makes these options
/// of a model's files.
struct LanguageModelOptions {
  /// V; 0: no embedding and no output, the model takes and gives vectors, as
  /// torch.nn.TransformerEncoder.
  std::int64_t vocab_size = 0;
  bool scale_embedding = false;  ///< by √E, as Gemma
  /// Rows of a learned table of positions, 0: none.
  std::int64_t max_positions = 0;
  std::int64_t first_position = 0;  ///< the row of the first token (RoBERTa: 2)
  /// RoBERTa does not count tokens with this id. They take the row before the first one.
  std::optional<std::int64_t> padding_id = {};
  std::optional<PositionalEncodingOptions> sinusoidal = {};
  std::int64_t num_token_types = 0;                     ///< of BERT; 0: none
  std::optional<LayerNormOptions> embedding_norm = {};  ///< of the sum of these, as BERT
  TransformerEncoderOptions stack = {};
  bool causal = true;  ///< whether a token attends to those before it only

  bool output = true;  ///< whether there are logits; not without a vocabulary
  bool tied = true;    ///< the output layer's weight is the embedding's
  bool output_bias = false;
  /// BERT's masked-language head: before the output layer LayerNorm(f(x · Wᵀ + b)), with this f.
  std::optional<Activation> transform = {};
  float transform_norm_eps = 1e-12F;
  float final_softcap = 0;  ///< c > 0: logits become c·tanh(logits / c), as Gemma 2
  bool pooler = false;      ///< BERT's: tanh(x_0 · Wᵀ + b) of the first token
  /// Of the matrices around the stack, whose layers have their own: the embedding, and what
  /// products read. Tables of positions and of token types stay float32.
  WeightFormat weights = {};
};

/// What a pass through a LanguageModel may be given.
struct LanguageModelCall {
  /// Of every layer. `causal` stands beside the model's own: either excludes what comes later.
  AttentionOptions attention = {};
  /// Positions of the tokens, (N) or (B, N), such as those of a batch that is padded on the left:
  /// for the layers' rotary positions, see TransformerEncoderCall, and for a learned table, where
  /// position p takes row first_position + p. Positions for a table are integers from 0 on, those
  /// for a sinusoidal encoding any numbers. By default tokens count from 0, or from the past
  /// length, and RoBERTa's from the first one that is not padding.
  TensorView<const double> positions = {};
  /// None, or those of make_caches(): the tokens are then the next ones of a sequence.
  std::span<KeyValueCache> caches = {};
  /// None, all of type 0, or the type of each token, in the shape of the ids.
  IdView token_types = {};
  /// (B, N, E) or (N, E), or none: receives what the last layer gives, after the last norm.
  Tensor hidden = {};
  /// (B, E) or (E), or none: receives what the pooler gives.
  Tensor pooled = {};
  /// Intermediates to be shown: "embedded", what goes into the first layer; "encoder.…" of the
  /// stack; and "embedding_norm.output", "transform.output", "transform_norm.output",
  /// "output.output" (logits before they are capped) and "pooler.output" (before tanh).
  Intermediates* intermediates = nullptr;
};

/// A choice among logits.
struct SamplingOptions {
  /// Divides the logits; 0 takes the largest.
  double temperature = 0;
  /// How many of the most probable tokens are left in, of equal ones those that come first; 0: all.
  std::int64_t top_k = 0;
  RandomStream random = {};
};

/// The token that the logits (V) lead to: the largest with temperature 0, the first of equal ones;
/// otherwise drawn by number `step` of the stream, u in [0, 1) as in fill_uniform, as the first of
/// the tokens, the most probable first, with which the sum of probabilities exceeds u. The same on
/// every machine for the same logits, but for probabilities that end within 1e-15 of u.
///
/// Throws kShapeMismatch for anything but (V) with V ≥ 1, and kInvalidArgument for a temperature
/// that is not a finite number ≥ 0, a negative top_k or step, NaN, or logits that are all −∞.
ATTN_API std::int64_t choose_token(const ConstTensor& logits, const SamplingOptions& options = {},
                                   std::int64_t step = 0);

struct GenerationOptions {
  std::int64_t max_new_tokens = 20;
  SamplingOptions sampling = {};
  std::vector<std::int64_t> stop_ids = {};         ///< ends after one of these, which is given, too
  ElementType cache_type = ElementType::kFloat32;  ///< of keys and values of past tokens
};

/// A Transformer between an embedding and an output layer: GPT-2, BERT, Llama and what is like
/// them.
///
///   x = embedding(ids) (· √E) + positions + token types,  normalised with embedding_norm
///   hidden = encoder(x)
///   logits = hidden · output.weightᵀ + output.bias
///
/// Parameters: "embedding.weight" (V, E), "positions.weight" (max_positions, E),
/// "token_types.weight", "embedding_norm.…", "encoder.…" (see TransformerEncoder), "transform.…",
/// "transform_norm.…", "output.weight" unless it is tied, "output.bias", and "pooler.…".
///
/// Error: that of the layers. Logits of models of three layers of width 24, with weights of
/// deviation 1/√(their columns), are within 1e-5 of the exact ones.
class ATTN_API LanguageModel : public Module {
 public:
  /// Throws what the layers do, and kInvalidArgument for options that contradict each other.
  explicit LanguageModel(const LanguageModelOptions& options,
                         Context& context = Context::default_context());

  const LanguageModelOptions& options() const noexcept { return options_; }
  const TransformerEncoder& encoder() const noexcept { return stack_; }
  std::int64_t d_model() const noexcept { return stack_.layers().front().options().d_model; }

  /// ids (B, N) or (N); logits (B, n, V) or (n, V) receives those of the last n tokens, 1 ≤ n ≤ N,
  /// or none. Throws kShapeMismatch, kInvalidArgument, kSizeOverflow, std::bad_alloc, and
  /// kUnsupported for logits, pooled or ids that the model has no layer for, and for numbers that
  /// overflow: the error's argument is then the first layer with an output that is not finite.
  /// Outputs are then untouched, and the caches as they were.
  void forward(const IdView& ids, const Tensor& logits, const LanguageModelCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same from vectors (B, N, E) or (N, E) in place of embeddings, to which positions and so on
  /// are added.
  void forward(const ConstTensor& x, const Tensor& logits, const LanguageModelCall& call = {},
               Context& context = Context::default_context()) const;

  /// An empty cache for each layer, with room for `capacity` tokens at first. Throws what
  /// KeyValueCache does, and kUnsupported where the model is not causal.
  std::vector<KeyValueCache> make_caches(std::int64_t batch = 1, std::int64_t capacity = 0,
                                         ElementType type = ElementType::kFloat32) const;

  /// What follows the ids (N), N ≥ 1, token by token from a cache. Throws what forward() and
  /// choose_token() do, and kInvalidArgument for more tokens than there are positions.
  std::vector<std::int64_t> generate(const IdView& ids, const GenerationOptions& options = {},
                                     Context& context = Context::default_context()) const;

 private:
  /// One of ids and x is none.
  void run(const IdView& ids, const ConstTensor& x, const Tensor& logits,
           const LanguageModelCall& call, Context& context, bool check_overflow = true) const;
  /// Adds the sinusoidal encoding to x (B, N, E).
  ATTN_LOCAL void add_sinusoids(const Tensor& x, const TensorView<const double>& given,
                                std::int64_t past, Context& context) const;
  /// Adds the table of positions to x (B, N, E), the embeddings of the ids if there are any.
  ATTN_LOCAL void add_positions(const IdView& ids, const Tensor& x, const LanguageModelCall& call,
                                std::int64_t past, Context& context) const;
  /// Repeats a call to throw the error about its first layer whose output is not finite.
  ATTN_LOCAL void fail_overflow(const IdView& ids, const ConstTensor& x, LanguageModelCall call,
                                Context& context) const;

  LanguageModelOptions options_;
  std::optional<Embedding> embedding_, token_types_;
  std::optional<LearnedPositionalEncoding> positions_;
  std::optional<PositionalEncoding> sinusoidal_;
  std::optional<LayerNorm> embedding_norm_, transform_norm_;
  TransformerEncoder stack_;
  std::optional<Linear> transform_, output_, pooler_;
};

}  // namespace attn
