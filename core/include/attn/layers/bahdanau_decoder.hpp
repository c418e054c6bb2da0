#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/id_view.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/lengths_view.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Tape;
class Variable;

struct BahdanauDecoderOptions {
  std::int64_t vocab_size = 0;   ///< V, of the target language
  std::int64_t embed_size = 0;   ///< width of the embedding of a target token
  std::int64_t num_hiddens = 0;  ///< H, of the attention and of the GRU
  std::int64_t num_layers = 1;   ///< of the GRU
  /// Width of the encoder's outputs; num_hiddens by default.
  std::optional<std::int64_t> encoder_dim = {};
};

/// The decoder of Bahdanau et al. (2015, arXiv:1409.0473), which learned to align and translate, as
/// D2L 11.4 has it (Seq2SeqAttentionDecoder). At each step
///
///   context = additive attention(query: the last layer's hidden state, keys and values: the
///             encoder's outputs)
///   output, hidden = GRU([context, embedding of the token], hidden)
///   logits = dense(output)
///
/// Parameters, with the names of D2L's state_dict, zeros at first: "attention.W_k.weight",
/// "attention.W_q.weight", "attention.w_v.weight" (see AdditiveAttention), "embedding.weight" (V,
/// embed_size), "rnn.weight_ih_l0" … (see GRU; its input is encoder_dim + embed_size wide),
/// "dense.weight" (V, H), "dense.bias" (V).
class ATTN_API BahdanauDecoder : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1, kSizeOverflow, std::bad_alloc.
  explicit BahdanauDecoder(const BahdanauDecoderOptions& options);

  const BahdanauDecoderOptions& options() const noexcept { return options_; }

  /// What is carried from step to step. A copy branches off, e.g. for beam search.
  class ATTN_API State {
   public:
    std::int64_t batch() const noexcept { return batch_; }
    /// Length of the encoder's outputs, padding included.
    std::int64_t num_keys() const noexcept { return num_keys_; }
    /// (num_layers, B, H); valid as long as this state.
    ConstTensor hidden() const noexcept;

   private:
    friend class BahdanauDecoder;
    std::int64_t batch_ = 0, num_keys_ = 0, encoder_dim_ = 0, num_layers_ = 0, num_hiddens_ = 0;
    std::vector<float> hidden_;
    std::vector<float> encoder_outputs_;
    std::vector<float> projected_keys_;
    std::vector<std::int32_t> encoder_lens_;
  };

  /// encoder_outputs (B, Nk, encoder_dim), the encoder's final hidden state (num_layers, B, H),
  /// encoder_lens (B) in [0, Nk], or none where nothing is padded. All is copied.
  /// Throws kShapeMismatch, kInvalidArgument, kSizeOverflow, std::bad_alloc.
  State init_state(const ConstTensor& encoder_outputs, const ConstTensor& hidden,
                   const LengthsView& encoder_lens = {},
                   Context& context = Context::default_context()) const;

  /// Decodes T tokens one after the other: tokens (B, T) in [0, V), logits (B, T, V), and, when
  /// given, the alignment matrix (B, T, Nk): row t is how strongly step t looks at each of the
  /// encoder's outputs. T steps at once (teacher forcing) give the same bits as T calls with one.
  ///
  /// Error, measured over five steps with weights drawn from deviation 1/√(their columns): logits
  /// are within 1e-6 of the exact values, alignments within 3e-7.
  ///
  /// Throws kShapeMismatch, kInvalidArgument (a token outside the vocabulary, a state that
  /// is not of this decoder, null data), kSizeOverflow, std::bad_alloc; state and outputs are then
  /// as they were.
  ///
  /// Intermediates, of all T steps: "attention.projected_queries" (B, T, H), "attention.scores" and
  /// "attention.weights" (B, T, Nk), "attention.output" (B, T, encoder_dim), which is the context,
  /// "embedding.output" (B, T, embed_size), "rnn.output_l0" (B, T, H) and so on of each layer, and
  /// "dense.output" (B, T, V); and "attention.projected_keys" (B, Nk, H), which the state holds.
  void forward(const IdView& tokens, State& state, const Tensor& logits,
               const Tensor& alignment = {}, Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// The same from the state that init_state() makes of these, recorded on a tape, as training
  /// needs it: `tokens` are what the decoder is to be given at each step (teacher forcing). Gives
  /// the logits (B, T, V). `last_hidden`, if not null, is given the hidden state after the last
  /// step, from which another call goes on with the next tokens; it may be `hidden`. An encoder is
  /// an Embedding and a GRU, whose outputs and last states these are:
  ///
  ///   attn::Variable hidden;
  ///   attn::Variable outputs = encoder.forward(embedding.forward(tape, source), {}, &hidden);
  ///   attn::Variable logits = decoder.forward(tape, target, outputs, hidden, source_lens);
  ///   tape.backward(attn::cross_entropy(logits, next));
  ///
  /// Values have the bits of forward() of tensors. Gradients are those of the layers inside, each
  /// with the error that its header states; over five steps they are within 1e-5 of the largest of
  /// their tensor, as measured. Outputs of the encoder beyond a length have gradient 0.
  ///
  /// Throws as init_state() and forward(). Intermediates of attention and rnn are those of the last
  /// step (see Tape::watch()).
  Variable forward(Tape& tape, const IdView& tokens, const Variable& encoder_outputs,
                   const Variable& hidden, const LengthsView& encoder_lens = {},
                   Variable* last_hidden = nullptr) const;

 private:
  struct ATTN_LOCAL Layers;

  ATTN_LOCAL void check_encoder(const ConstTensor& encoder_outputs, const ConstTensor& hidden,
                                const LengthsView& encoder_lens) const;
  ATTN_LOCAL void check_tokens(const IdView& tokens, std::int64_t batch) const;

  BahdanauDecoderOptions options_;
  std::shared_ptr<Layers> layers_;
};

}  // namespace attn
