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
#include "attn/layers/contributions.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
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

class IntermediateWriter;
class Tape;
class Variable;

/// The options of a LanguageModel: its stack of layers, and the layers before and after the stack.
/// load_language_model() derives them from a model's files.
struct LanguageModelOptions {
  /// V, the size of the vocabulary. If it is 0, there is no embedding and no output layer: the
  /// model maps vectors to vectors, like torch.nn.TransformerEncoder.
  std::int64_t vocab_size = 0;
  /// W, the width of the embedding and of the output layer if it differs from E; otherwise 0. The
  /// linear layers project_in and project_out, which have no biases, map W to E and E to W, as in
  /// the OPT model with 350 million parameters.
  std::int64_t embedding_dim = 0;
  bool scale_embedding = false;  ///< true if embeddings are multiplied by √E, as in Gemma
  /// Number of rows of the learned table of positions; 0 means no table.
  std::int64_t max_positions = 0;
  std::int64_t first_position = 0;  ///< row of the table for the first token; 2 in RoBERTa and OPT
  /// The id of the padding token. RoBERTa does not count padding tokens; they use the row before
  /// first_position.
  std::optional<std::int64_t> padding_id = {};
  std::optional<PositionalEncodingOptions> sinusoidal = {};
  std::int64_t num_token_types = 0;  ///< number of token types, as in BERT; 0 means none
  /// Normalises the sum of the embeddings, as in BERT.
  std::optional<LayerNormOptions> embedding_norm = {};
  TransformerEncoderOptions stack = {};
  bool causal = true;  ///< true if a token attends only to itself and earlier tokens

  bool output = true;  ///< true if the model has an output layer, which computes logits; requires a
                       ///< vocabulary
  bool tied = true;    ///< true if the output layer shares the embedding's weight
  bool output_bias = false;
  /// BERT's masked-language head: applies LayerNorm(f(x · Wᵀ + b)) with this activation f before
  /// the output layer.
  std::optional<Activation> transform = {};
  float transform_norm_eps = 1e-12F;
  float final_softcap = 0;  ///< a value c > 0 turns logits into c·tanh(logits / c), as in Gemma 2
  bool pooler = false;      ///< true adds BERT's pooler: tanh(x_0 · Wᵀ + b) for the first token x_0
  /// The format of the matrices outside the stack: the embedding and the weights of linear layers.
  /// The layers of the stack have their own formats. Tables of positions and of token types stay
  /// float32.
  WeightFormat weights = {};
};

/// The options of a call to a LanguageModel.
struct LanguageModelCall {
  /// Options for the attention of every layer. Later tokens are excluded if `causal` is true here
  /// or in the model's options. Packed sequences (cu_seqlens) need `positions` if the model adds
  /// positions to its tokens, and cannot be combined with `pooled`.
  AttentionOptions attention = {};
  /// Positions of the tokens, (N) or (B, N), e.g. for a batch that is padded on the left. They
  /// apply to the layers' rotary positions (see TransformerEncoderCall), to a sinusoidal encoding,
  /// which accepts any numbers, and to a learned table, where position p uses row first_position +
  /// p. Positions in a learned table must be non-negative integers. By default, positions are
  /// counted from 0 or from the past length; in RoBERTa they are counted from the first token that
  /// is not padding.
  TensorView<const double> positions = {};
  /// None, or the caches from make_caches(). With caches, the tokens are the next tokens of a
  /// sequence.
  std::span<KeyValueCache> caches = {};
  /// The type of each token, in the shape of the ids. None means that all tokens have type 0.
  IdView token_types = {};
  /// Receives the output of the last layer after the final norm, (B, N, E) or (N, E). May be none.
  Tensor hidden = {};
  /// Receives the output of the pooler, (B, E) or (E). May be none.
  Tensor pooled = {};
  /// Receives intermediates:
  ///
  /// - "embedded": the input of the first layer.
  /// - "encoder.…": the intermediates of the stack; see TransformerEncoderCall.
  /// - "project_in.output", "embedding_norm.output", "transform.output", "transform_norm.output"
  /// and
  ///   "project_out.output".
  /// - "output.output": the logits before final_softcap.
  /// - "pooler.output": the output of the pooler before tanh.
  Intermediates* intermediates = nullptr;
  /// Changes intermediates while they are computed. Null means no changes.
  const Interventions* interventions = nullptr;
};

/// Settings for choosing a token from logits.
struct SamplingOptions {
  /// Divides the logits. 0 selects the token with the largest logit.
  double temperature = 0;
  /// Keeps only this many of the most probable tokens. Of equally probable tokens, the first are
  /// kept. 0 keeps all.
  std::int64_t top_k = 0;
  RandomStream random = {};
};

/// Chooses a token from the logits (V). With temperature 0, or if a logit is +∞, chooses the token
/// with the largest logit, or the first such token if several logits are equal. Otherwise, u is a
/// random number in [0, 1): the number with index `step` of the stream, as fill_uniform computes
/// it. Probabilities are added up, starting with the most probable token, until the sum exceeds u.
/// The last token added is chosen. The same logits give the same token on every machine, unless a
/// partial sum is within 1e-15 of u.
///
/// Throws kShapeMismatch unless the logits have shape (V) with V ≥ 1. Throws kInvalidArgument for a
/// temperature that is not a finite number ≥ 0, a negative top_k or `step`, a NaN logit, or logits
/// that are all −∞.
ATTN_API std::int64_t choose_token(const ConstTensor& logits, const SamplingOptions& options = {},
                                   std::int64_t step = 0);

struct GenerationOptions {
  std::int64_t max_new_tokens = 20;
  SamplingOptions sampling = {};
  /// Generation stops after one of these ids. The id is kept in the result.
  std::vector<std::int64_t> stop_ids = {};
  ElementType cache_type = ElementType::kFloat32;  ///< type of the cached keys and values
};

/// A Transformer between an embedding and an output layer: GPT-2, BERT, Llama and similar models.
///
///   x = embedding(ids) (· √E) + positions + token types,  normalised with embedding_norm
///   hidden = encoder(x)
///   logits = hidden · output.weightᵀ + output.bias
///
/// If embedding_dim is set, the first equation uses project_in(embedding(ids)) instead of
/// embedding(ids), and the last one uses project_out(hidden) instead of hidden.
///
/// Parameters: "embedding.weight" (V, W), "project_in.weight" (E, W), "positions.weight"
/// (max_positions, E), "token_types.weight", "embedding_norm.…", "encoder.…" (see
/// TransformerEncoder), "transform.…", "transform_norm.…", "project_out.weight" (W, E),
/// "output.weight" unless tied, "output.bias", and "pooler.…". W is E unless embedding_dim is set.
///
/// The model's error depends on the errors of its layers. For models that have three layers of
/// width 24 and weights of standard deviation 1/√(number of columns), logits are within 1e-5 of the
/// exact values.
class ATTN_API LanguageModel : public Module {
 public:
  /// Throws the errors of the layers, and kInvalidArgument for options that contradict each other.
  explicit LanguageModel(const LanguageModelOptions& options,
                         Context& context = Context::default_context());

  const LanguageModelOptions& options() const noexcept { return options_; }
  const TransformerEncoder& encoder() const noexcept { return stack_; }
  std::int64_t d_model() const noexcept { return stack_.layers().front().options().d_model; }

  /// `ids` are (B, N) or (N). `logits`, which is (B, n, V), (n, V) or none, receives the logits of
  /// the last n tokens, 1 ≤ n ≤ N. Throws kUnsupported if the model has no layer for `logits`,
  /// `pooled` or `ids`, or if numbers overflow. May also throw kShapeMismatch, kInvalidArgument,
  /// kSizeOverflow or std::bad_alloc. After an overflow, the error's argument is the first layer
  /// whose output is not finite. After an error, outputs and caches are unchanged.
  void forward(const IdView& ids, const Tensor& logits, const LanguageModelCall& call = {},
               Context& context = Context::default_context()) const;

  /// Takes vectors (B, N, E) or (N, E) instead of ids. They replace the embeddings of the tokens,
  /// after project_in; positions and token types are still added to them.
  void forward(const ConstTensor& x, const Tensor& logits, const LanguageModelCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for ids, but records the computation on `tape` and returns the logits of all
  /// tokens, (B, N, V) or (N, V). They are bit-identical to the logits of forward(). The weights
  /// must be float32.
  ///
  ///   attn::Variable logits = model.forward(tape, ids);
  ///   tape.backward(attn::cross_entropy(logits, targets));
  ///   optimizer.step(tape);
  ///
  /// The call may only set attention, token_types and, unless the model adds positions to its
  /// tokens, positions. Throws kUnsupported if the model has no embedding or no output layer, or if
  /// the weights have another type. Throws kInvalidArgument if the call sets another option, or if
  /// the ids contain options().padding_id. May also throw kShapeMismatch, kSizeOverflow or
  /// std::bad_alloc.
  Variable forward(Tape& tape, const IdView& ids, const LanguageModelCall& call = {}) const;

  /// Applies only the final norm and the output layer: computes the logits that the model would
  /// give if `x`, (B, N, E) or (N, E), were the output of its last layer. `logits` is (B, N, V) or
  /// (N, V). For the output of an earlier layer, e.g. the intermediate "encoder.layers.3.output",
  /// this is the logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens"). Throws
  /// kUnsupported if the model has no output layer. May also throw kShapeMismatch,
  /// kInvalidArgument, kSizeOverflow or std::bad_alloc. If it throws, `logits` are unchanged.
  void unembed(const ConstTensor& x, const Tensor& logits,
               Context& context = Context::default_context()) const;

  /// Splits the logit of token `target` after token `position` of `ids` (N) into the contributions
  /// of the embedding, the heads, the feed-forward networks and the biases. They add up to the
  /// logit before final_softcap. The call may only set attention, positions and token_types. Throws
  /// the errors of forward(), kInvalidArgument if the position or target is out of range or the
  /// call sets another option, and kUnsupported if the model has no output layer, has a
  /// `transform`, or has layers with neither norm_first nor norm_outputs.
  Contributions contributions(const IdView& ids, std::int64_t target, std::int64_t position,
                              const LanguageModelCall& call = {},
                              Context& context = Context::default_context()) const;

  /// Returns an empty cache for each layer, with initial room for `capacity` tokens. Throws the
  /// same errors as KeyValueCache, and kUnsupported if the model is not causal.
  std::vector<KeyValueCache> make_caches(std::int64_t batch = 1, std::int64_t capacity = 0,
                                         ElementType type = ElementType::kFloat32) const;

  /// Continues `ids` (N), N ≥ 1, and returns the new tokens, decoded one by one with a cache.
  /// Throws the same errors as forward() and choose_token(), and kInvalidArgument for more tokens
  /// than there are positions.
  std::vector<std::int64_t> generate(const IdView& ids, const GenerationOptions& options = {},
                                     Context& context = Context::default_context()) const;

 private:
  ATTN_LOCAL void check_ids(const IdView& ids) const;
  /// Checks the options of a call that do not depend on its results. `tokens` is the shape of the
  /// ids.
  ATTN_LOCAL void check_call(std::span<const std::int64_t> tokens,
                             const LanguageModelCall& call) const;
  /// Computes the model from `ids` or, if there are none, from the vectors `x`. The forward()
  /// functions without a tape call it.
  void run(const IdView& ids, const ConstTensor& x, const Tensor& logits,
           const LanguageModelCall& call, Context& context, bool check_overflow = true) const;
  /// Applies the layers after the final norm to `x` (B, n, E) and writes `logits` (B, n, V). `wide`
  /// (B, n, E) is scratch memory for `transform`, and `narrow` (B, n, W) for project_out.
  ATTN_LOCAL void write_logits(Tensor x, const Tensor& wide, const Tensor& narrow,
                               const Tensor& logits, IntermediateWriter& writer,
                               Context& context) const;
  /// Adds the sinusoidal encoding to `x` (B, N, E).
  ATTN_LOCAL void add_sinusoids(const Tensor& x, const TensorView<const double>& given,
                                std::int64_t past, Context& context) const;
  /// Adds the rows of the learned table of positions to `x` (B, N, E), which contains the
  /// embeddings of `ids` unless `ids` is none.
  ATTN_LOCAL void add_positions(const IdView& ids, const Tensor& x, const LanguageModelCall& call,
                                std::int64_t past, Context& context) const;
  /// Repeats a call to find the first layer whose output is not finite, and throws an error that
  /// names this layer.
  ATTN_LOCAL void fail_overflow(const IdView& ids, const ConstTensor& x, LanguageModelCall call,
                                Context& context) const;

  LanguageModelOptions options_;
  std::optional<Embedding> embedding_, token_types_;
  std::optional<LearnedPositionalEncoding> positions_;
  std::optional<PositionalEncoding> sinusoidal_;
  std::optional<LayerNorm> embedding_norm_, transform_norm_;
  TransformerEncoder stack_;
  std::optional<Linear> project_in_, transform_, project_out_, output_, pooler_;
};

}  // namespace attn
