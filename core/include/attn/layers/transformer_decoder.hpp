#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
struct AttentionVariables;

/// What decoding token by token keeps for a layer: projected keys and values of the tokens so far,
/// and of the encoder's output, which is projected once.
struct TransformerDecoderLayerState {
  KeyValueCache self_attention;
  KeyValueCache memory;
};

/// What a pass through a layer of a decoder may be given.
struct TransformerDecoderLayerCall {
  /// PyTorch's tgt_mask, tgt_key_padding_mask and tgt_is_causal. Nothing is causal unless it is
  /// asked for here: `.self_attention = {.causal = true}`.
  AttentionOptions self_attention = {};
  /// PyTorch's memory_mask and memory_key_padding_mask. A dropout of attention's own is refused in
  /// both: that of the call acts on the weights, too.
  AttentionOptions cross_attention = {};
  /// Where the tokens x stand, for self-attention's rotary positions: see MultiHeadAttentionCall.
  TensorView<const double> positions = {};
  /// In training acts in six places: on the weights of self-attention, after it, on those of cross
  /// attention, after it, within and after the feed-forward network; with streams
  /// random.stream … + 5.
  Dropout dropout = {};
  /// None, or that of start(), which holds the projections of the memory: the memory given is then
  /// none, and x are the next tokens of a sequence, which attend to all before them and are
  /// appended. Options count from the beginning of the sequence, see MultiHeadAttentionCall: a
  /// causal layer gives token by token what it gives for the whole sequence.
  TransformerDecoderLayerState* state = nullptr;
  /// Intermediates to be shown: "self_attn.…" and "multihead_attn.…" (see MultiHeadAttentionCall),
  /// "linear1.output", "hidden" and "linear2.output" (FeedForward) or those of GatedFeedForward,
  /// "norm1.output" and so on of the norms that there are; "resid_pre" (x), "resid_mid",
  /// "resid_mid_cross" and "resid_post", the sums after self-attention, cross attention and the
  /// feed-forward network, which post-norm has yet to normalise; and "output".
  Intermediates* intermediates = nullptr;
};

/// A layer of a Transformer's decoder (Vaswani et al. 2017; torch.nn.TransformerDecoderLayer; D2L
/// 11.7.5, `TransformerDecoderBlock`):
///
///   post-norm:  g = norm1(x + dropout(self_attn(x, x, x)))
///               h = norm2(g + dropout(multihead_attn(g, memory, memory)))
///               output = norm3(h + dropout(feed_forward(h)))
///   pre-norm:   g = x + dropout(self_attn(n, n, n)),  n = norm1(x)
///               h = g + dropout(multihead_attn(norm2(g), memory, memory))
///               output = h + dropout(feed_forward(norm3(h)))
///
/// norm_outputs as in TransformerEncoderLayer. Parameters, in PyTorch's order: "self_attn.…",
/// "multihead_attn.…", "linear1.…", "linear2.…" or those of GatedFeedForward, "norm1.…", "norm2.…",
/// "norm3.…", "output_norm1.…" and so on. Positional schemes, sinks and window are those of
/// self-attention. Error as in TransformerEncoderLayer.
class ATTN_API TransformerDecoderLayer : public Module {
 public:
  using State = TransformerDecoderLayerState;

  /// Throws what TransformerEncoderLayer does.
  explicit TransformerDecoderLayer(const TransformerLayerOptions& options);

  const TransformerLayerOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self_attention() const noexcept { return self_attention_; }
  const MultiHeadAttention& cross_attention() const noexcept { return cross_attention_; }

  /// x (B, N, E), memory (B, M, E), output as x, or all without B; any strides; output may be x
  /// itself, otherwise it must not overlap the inputs. All may be of any type, in any mix, as of
  /// TransformerEncoderLayer. Throws kShapeMismatch, kInvalidArgument,
  /// kSizeOverflow, std::bad_alloc; outputs and state are then as they were.
  void forward(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
               const TransformerDecoderLayerCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x and memory; a state and intermediates are refused, see
  /// Tape::watch().
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderLayerCall& call = {}) const;
  /// The same with terms of attention that are variables, see MultiHeadAttention.
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderLayerCall& call, const AttentionVariables& self_terms,
                   const AttentionVariables& cross_terms) const;

  /// A state that holds the projections of memory (B, M, E) or (M, E), and no tokens yet but room
  /// for `capacity` of them at first; `type` is that of both caches. Throws kShapeMismatch,
  /// kInvalidArgument (also for B = 0), kSizeOverflow, std::bad_alloc.
  State start(const ConstAnyTensor& memory, std::int64_t capacity = 0,
              Context& context = Context::default_context(),
              ElementType type = ElementType::kFloat32) const;

 private:
  friend class TransformerDecoder;
  void check_memory(const ConstAnyTensor& x, const ConstAnyTensor& memory, bool has_state) const;
  /// May have written to outputs of attention, and to the state, when it throws.
  void run(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
           const TransformerDecoderLayerCall& call, Context& context) const;

  TransformerLayerOptions options_;
  MultiHeadAttention self_attention_, cross_attention_;
  std::variant<FeedForward, GatedFeedForward> feed_forward_;
  detail::SublayerNorms norms1_, norms2_, norms3_;
};

/// What decoding token by token keeps for a stack: made by TransformerDecoder::start(). A copy
/// branches off, e.g. for beam search.
class ATTN_API TransformerDecoderState {
 public:
  /// Tokens decoded so far.
  std::int64_t length() const noexcept {
    return layers_.empty() ? 0 : layers_.front().self_attention.length();
  }

  /// Forgets all tokens from `length` on. Throws kInvalidArgument unless 0 ≤ length ≤ length().
  void truncate(std::int64_t length);

  std::span<const TransformerDecoderLayerState> layers() const noexcept { return layers_; }

 private:
  friend class TransformerDecoder;
  std::vector<TransformerDecoderLayerState> layers_;
};

/// What a pass through a TransformerDecoder may be given.
struct TransformerDecoderCall {
  /// For each layer, as for one. Outputs have to be empty: every layer would write them.
  AttentionOptions self_attention = {};
  AttentionOptions cross_attention = {};
  /// As of a layer, for each that has rotary positions; refused where none has.
  TensorView<const double> positions = {};
  /// Layer l uses streams random.stream + 6·l … + 5.
  Dropout dropout = {};
  /// None, or one for each layer: receive attention weights (B, H, Nq, Nk). Empty ones are left
  /// out.
  std::span<const Tensor> self_attention_weights = {};
  std::span<const Tensor> cross_attention_weights = {};
  /// None, or that of start(), as the state of a layer.
  TransformerDecoderState* state = nullptr;
  /// Intermediates to be shown: "layers.0.…" and so on of each layer, and "norm.output".
  Intermediates* intermediates = nullptr;
};

using TransformerDecoderOptions = TransformerEncoderOptions;

/// A stack of such layers (torch.nn.TransformerDecoder). Parameters: "layers.0.…" and so on, and
/// with final_norm "norm.weight" and, where it is a LayerNorm, "norm.bias".
class ATTN_API TransformerDecoder : public Module {
 public:
  using State = TransformerDecoderState;

  /// Throws what TransformerEncoder does.
  explicit TransformerDecoder(const TransformerDecoderOptions& options);

  const TransformerDecoderOptions& options() const noexcept { return options_; }
  std::span<const TransformerDecoderLayer> layers() const noexcept { return layers_; }

  /// As for a layer. Throws kInvalidArgument as well for a state of another number of layers.
  void forward(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
               const TransformerDecoderCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x and memory; a state, weights and intermediates are
  /// refused.
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderCall& call = {}) const;
  /// The same with terms of every layer's attention that are variables.
  Variable forward(const Variable& x, const Variable& memory, const TransformerDecoderCall& call,
                   const AttentionVariables& self_terms,
                   const AttentionVariables& cross_terms) const;

  /// As of a layer.
  State start(const ConstAnyTensor& memory, std::int64_t capacity = 0,
              Context& context = Context::default_context(),
              ElementType type = ElementType::kFloat32) const;

 private:
  void run(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
           const TransformerDecoderCall& call, Context& context) const;

  TransformerDecoderOptions options_;
  std::vector<TransformerDecoderLayer> layers_;
  std::optional<detail::Norm> norm_;
};

}  // namespace attn
