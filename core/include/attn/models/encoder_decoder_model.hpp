#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/models/language_model.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The options of an EncoderDecoderModel. load_encoder_decoder() derives them from a model's files.
struct EncoderDecoderOptions {
  std::int64_t vocab_size = 0;   ///< V, the size of the vocabulary that source and target share
  bool scale_embedding = false;  ///< true if embeddings are multiplied by √E, as in Marian
  /// Number of rows of the two learned tables of positions, one for the encoder and one for the
  /// decoder; 0 means no tables.
  std::int64_t max_positions = 0;
  std::optional<PositionalEncodingOptions> sinusoidal = {};
  TransformerEncoderOptions encoder = {};
  TransformerDecoderOptions decoder = {};
  bool tied = true;  ///< true if the output layer shares the embedding's weight
  bool output_bias = false;
  /// True if the decoder's output is divided by √E before the output layer, as in the first T5.
  bool scale_output = false;
  std::int64_t start_id = 0;  ///< id of the token with which every target begins
  /// The format of the embedding and of the output layer's weight. The layers of both stacks have
  /// their own formats.
  WeightFormat weights = {};
};

/// The options of a call to EncoderDecoderModel::encode().
struct EncodeCall {
  /// Options for the attention of every encoder layer. For a batch that is padded at the end, set
  /// valid_lens here and in DecodeCall::cross_attention. Packed sequences (cu_seqlens) are rejected
  /// if the model adds positions to its tokens, as Marian does.
  AttentionOptions attention = {};
  /// Receives intermediates: "encoder_embedded", the input of the first layer, and "encoder.…" for
  /// the stack, e.g. "encoder.layers.0.self_attn.weights".
  Intermediates* intermediates = nullptr;
};

/// The options of a call to EncoderDecoderModel::decode().
struct DecodeCall {
  /// Options for every decoder layer. Self-attention is always causal.
  AttentionOptions self_attention = {};
  AttentionOptions cross_attention = {};
  /// None, or a state from start(), which includes the projections of the memory. With a state,
  /// `memory` must be none. The tokens are then the next tokens of the target.
  TransformerDecoderState* state = nullptr;
  /// Receives the output of the last layer after the final norm, (B, M, E) or (M, E). May be none.
  Tensor hidden = {};
  /// Receives intermediates: "decoder_embedded", the input of the first layer; "decoder.…" for the
  /// stack, e.g. "decoder.layers.0.self_attn.weights" and
  /// "decoder.layers.0.multihead_attn.weights"; and "output.output" (logits).
  Intermediates* intermediates = nullptr;
};

/// An encoder–decoder Transformer with an embedding and an output layer: T5, Marian and similar
/// models.
///
///   memory = encoder(embedding(source) (· √E) + positions)
///   hidden = decoder(embedding(target) (· √E) + positions, memory)
///   logits = hidden (/ √E) · output.weightᵀ + output.bias
///
/// Parameters: "embedding.weight" (V, E), "encoder_positions.weight" and "decoder_positions.weight"
/// (max_positions, E), "encoder.…" (see TransformerEncoder), "decoder.…" (see TransformerDecoder),
/// "output.weight" unless tied, and "output.bias".
///
/// A Tape cannot record this model. To train, use a LanguageModel, or build a model from layers
/// such as TransformerEncoder and TransformerDecoder.
///
/// The model's error depends on the errors of its layers. For models that have up to three
/// layers of width 21 in each stack, logits are within 2e-5 of the exact values.
class ATTN_API EncoderDecoderModel : public Module {
 public:
  using State = TransformerDecoderState;

  /// Throws the errors of the layers, and kInvalidArgument for options that contradict each other.
  explicit EncoderDecoderModel(const EncoderDecoderOptions& options,
                               Context& context = Context::default_context());

  const EncoderDecoderOptions& options() const noexcept { return options_; }
  const TransformerEncoder& encoder() const noexcept { return encoder_; }
  const TransformerDecoder& decoder() const noexcept { return decoder_; }
  std::int64_t d_model() const noexcept { return encoder_.layers().front().options().d_model; }

  /// Encodes a source: `ids` are (B, N) or (N), and `memory` (B, N, E) or (N, E) receives the
  /// encoder's output. Throws kShapeMismatch, kInvalidArgument, kSizeOverflow, std::bad_alloc, or
  /// kUnsupported if numbers overflow. If it throws, `memory` is unchanged.
  void encode(const IdView& ids, const Tensor& memory, const EncodeCall& call = {},
              Context& context = Context::default_context()) const;

  /// Decodes the tokens `ids` (B, M) or (M) of a target, whose first token is start_id. `logits`,
  /// which is (B, m, V), (m, V) or none, receives the logits of the last m tokens, 1 ≤ m ≤ M: row i
  /// predicts the token after token i. Throws the same errors as encode(). If it throws, outputs
  /// and the state are unchanged.
  void decode(const IdView& ids, const ConstTensor& memory, const Tensor& logits,
              const DecodeCall& call = {}, Context& context = Context::default_context()) const;

  /// Returns a state for decoding token by token, like TransformerDecoder::start(). Keys and values
  /// of `memory` are projected once.
  State start(const ConstTensor& memory, std::int64_t capacity = 0,
              Context& context = Context::default_context(),
              ElementType type = ElementType::kFloat32) const;

  /// Encodes `ids` (N), N ≥ 1, and returns the tokens that follow start_id, decoded one by one with
  /// a state. Throws the same errors as encode(), decode() and choose_token(). Throws
  /// kInvalidArgument if there are more tokens than positions.
  std::vector<std::int64_t> generate(const IdView& ids, const GenerationOptions& options = {},
                                     Context& context = Context::default_context()) const;

 private:
  ATTN_LOCAL void check_not_packed(const AttentionOptions& attention) const;
  /// Embeds `ids` and adds positions, which begin at `past`. `x` is (B, N, E).
  ATTN_LOCAL void embed(const IdView& ids, const Tensor& x,
                        const std::optional<LearnedPositionalEncoding>& positions,
                        std::int64_t past, Context& context) const;

  EncoderDecoderOptions options_;
  Embedding embedding_;
  std::optional<LearnedPositionalEncoding> encoder_positions_, decoder_positions_;
  std::optional<PositionalEncoding> sinusoidal_;
  TransformerEncoder encoder_;
  TransformerDecoder decoder_;
  std::optional<Linear> output_;
};

}  // namespace attn
