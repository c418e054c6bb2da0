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
  std::int64_t vocab_size = 0;   ///< V, size of the target language's vocabulary
  std::int64_t embed_size = 0;   ///< width of the embedding of a target token
  std::int64_t num_hiddens = 0;  ///< H, width of the attention and of the GRU
  std::int64_t num_layers = 1;   ///< number of layers of the GRU
  /// Width of the encoder's outputs; num_hiddens by default.
  std::optional<std::int64_t> encoder_dim = {};
};

/// The decoder of Bahdanau et al. (2015, arXiv:1409.0473), which learns to align and translate, as
/// in D2L 11.4 (Seq2SeqAttentionDecoder). At each step:
///
///   context = additive attention(query: the last layer's hidden state, keys and values: the
///             encoder's outputs)
///   output, hidden = GRU([context, embedding of the token], hidden)
///   logits = dense(output)
///
/// Parameters, with the names of D2L's state_dict, all initially zero: "attention.W_k.weight",
/// "attention.W_q.weight", "attention.w_v.weight" (see AdditiveAttention), "embedding.weight" (V,
/// embed_size), "rnn.weight_ih_l0" … (see GRU; the input has encoder_dim + embed_size columns),
/// "dense.weight" (V, H) and "dense.bias" (V).
class ATTN_API BahdanauDecoder : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1. May also throw kSizeOverflow or std::bad_alloc.
  explicit BahdanauDecoder(const BahdanauDecoderOptions& options);

  const BahdanauDecoderOptions& options() const noexcept { return options_; }

  /// The state carried from step to step. Copy it to branch off a sequence, e.g. for beam search.
  class ATTN_API State {
   public:
    std::int64_t batch() const noexcept { return batch_; }
    /// Length of the encoder's outputs, including padding.
    std::int64_t num_keys() const noexcept { return num_keys_; }
    /// The GRU's hidden state (num_layers, B, H), valid for as long as this state exists.
    ConstTensor hidden() const noexcept;

   private:
    friend class BahdanauDecoder;
    std::int64_t batch_ = 0, num_keys_ = 0, encoder_dim_ = 0, num_layers_ = 0, num_hiddens_ = 0;
    std::vector<float> hidden_;
    std::vector<float> encoder_outputs_;
    std::vector<float> projected_keys_;
    std::vector<std::int32_t> encoder_lens_;
  };

  /// Returns the state before the first step. `encoder_outputs` is (B, Nk, encoder_dim), `hidden`
  /// is the encoder's final hidden state (num_layers, B, H), and `encoder_lens` is (B) with values
  /// in [0, Nk], or none if nothing is padded. All inputs are copied. Throws kShapeMismatch,
  /// kInvalidArgument, kSizeOverflow or std::bad_alloc.
  State init_state(const ConstTensor& encoder_outputs, const ConstTensor& hidden,
                   const LengthsView& encoder_lens = {},
                   Context& context = Context::default_context()) const;

  /// Decodes T tokens one after another: `tokens` (B, T) in [0, V) give `logits` (B, T, V). If
  /// `alignment` (B, T, Nk) is passed, its row t receives the weights with which step t attends to
  /// the encoder's outputs. One call with T steps (teacher forcing) is bit-identical to T calls
  /// with one step.
  ///
  /// Error, measured over five steps with weights of standard deviation 1/√(number of columns):
  /// logits are within 1e-6 of the exact values, and alignments are within 3e-7.
  ///
  /// Throws kInvalidArgument for a token outside the vocabulary, a state of another decoder or a
  /// null data pointer. May also throw kShapeMismatch, kSizeOverflow or std::bad_alloc. If it
  /// throws, the state and the outputs are unchanged.
  ///
  /// Intermediates, for all T steps:
  ///
  /// - "attention.projected_queries" (B, T, H)
  /// - "attention.scores" and "attention.weights" (B, T, Nk)
  /// - "attention.output" (B, T, encoder_dim): the context
  /// - "attention.projected_keys" (B, Nk, H): part of the state
  /// - "embedding.output" (B, T, embed_size)
  /// - "rnn.output_l0" (B, T, H), and so on for each layer
  /// - "dense.output" (B, T, V)
  void forward(const IdView& tokens, State& state, const Tensor& logits,
               const Tensor& alignment = {}, Context& context = Context::default_context(),
               Intermediates* intermediates = nullptr) const;

  /// Like init_state() followed by forward(), but records the computation on a tape for training.
  /// `tokens` are the decoder's inputs at each step (teacher forcing). Returns the logits (B, T,
  /// V). If `last_hidden` is not null, it receives the hidden state after the last step, from which
  /// another call can continue; it may be the same variable as `hidden`. For example, with an
  /// encoder made of an Embedding and a GRU:
  ///
  ///   attn::Variable hidden;
  ///   attn::Variable outputs = encoder.forward(embedding.forward(tape, source), {}, &hidden);
  ///   attn::Variable logits = decoder.forward(tape, target, outputs, hidden, source_lens);
  ///   tape.backward(attn::cross_entropy(logits, next));
  ///
  /// Values have the same bits as with forward() for tensors. The inner layers compute the
  /// gradients, with the error bounds stated in their headers. Measured over five steps, they are
  /// off by at most 1e-5 times the largest gradient in the same tensor. Encoder outputs beyond the
  /// length of a sequence have gradient 0.
  ///
  /// Throws the same errors as init_state() and forward(). For "attention" and "rnn", Tape::watch()
  /// gives the intermediates of the last step only.
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
