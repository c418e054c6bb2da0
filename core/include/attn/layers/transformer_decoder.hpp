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

/// The state of one layer when decoding token by token. It contains the projected keys and values
/// of the tokens so far, and the projected keys and values of the encoder's output, which are
/// computed only once.
struct TransformerDecoderLayerState {
  KeyValueCache self_attention;
  KeyValueCache memory;
};

/// The options of a call to a TransformerDecoderLayer.
struct TransformerDecoderLayerCall {
  /// Replaces PyTorch's tgt_mask, tgt_key_padding_mask and tgt_is_causal. Attention is causal only
  /// if you set it here: `.self_attention = {.causal = true}`.
  AttentionOptions self_attention = {};
  /// Replaces PyTorch's memory_mask and memory_key_padding_mask. Use `dropout` below: it already
  /// covers the attention weights, so setting a dropout in self_attention or cross_attention is an
  /// error.
  AttentionOptions cross_attention = {};
  /// The positions of the tokens `x`, for rotary positions in self-attention; see
  /// MultiHeadAttentionCall.
  TensorView<const double> positions = {};
  /// In training, dropout acts in six places: on the weights of self-attention, after
  /// self-attention, on the weights of cross attention, after cross attention, and within and after
  /// the feed-forward network. Uses streams random.stream to random.stream + 5.
  Dropout dropout = {};
  /// None, or a state from start(), which includes the projections of the memory. With a state,
  /// `memory` must be none. The rows of `x` are then the next tokens of a sequence: they attend to
  /// all tokens before them and are appended to the state. Positions, masks and lengths count from
  /// the beginning of the sequence (see MultiHeadAttentionCall), so a causal layer gives the same
  /// results token by token as for the whole sequence.
  TransformerDecoderLayerState* state = nullptr;
  /// Receives intermediates:
  ///
  /// - "self_attn.…" and "multihead_attn.…"; see MultiHeadAttentionCall.
  /// - "linear1.output", "hidden" and "linear2.output", as in FeedForward, or the names in
  ///   GatedFeedForward.
  /// - "norm1.output" and so on for each norm of the layer, and "output".
  /// - "attn_out", "cross_attn_out" and "mlp_out": the values that the sublayers add to the
  /// residual
  ///   stream.
  /// - "resid_pre" (x), "resid_mid", "resid_mid_cross" and "resid_post": the residual stream before
  ///   the first sublayer, and after self-attention, cross attention and the feed-forward network.
  ///   With post-norm, the last three are the sums before they are normalised.
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
/// norm_outputs works as in TransformerEncoderLayer; parallel_residual is an error. Parameters, in
/// PyTorch's order: "self_attn.…", "multihead_attn.…", "linear1.…", "linear2.…" or the names in
/// GatedFeedForward, "norm1.…", "norm2.…", "norm3.…", "output_norm1.…" and so on. Positional
/// schemes, sinks and window apply to self-attention only. The error bound is the same as for
/// TransformerEncoderLayer.
class ATTN_API TransformerDecoderLayer : public Module {
 public:
  using State = TransformerDecoderLayerState;

  /// Throws the same errors as TransformerEncoderLayer.
  explicit TransformerDecoderLayer(const TransformerLayerOptions& options);

  const TransformerLayerOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self_attention() const noexcept { return self_attention_; }
  const MultiHeadAttention& cross_attention() const noexcept { return cross_attention_; }

  /// `x` and `output` are (B, N, E), and `memory` is (B, M, E). All may omit B. They may have any
  /// strides. `output` may be `x` itself; otherwise it must not overlap the inputs. All may have
  /// any element types, as in TransformerEncoderLayer. Throws kShapeMismatch, kInvalidArgument,
  /// kSizeOverflow or std::bad_alloc. If it throws, outputs and state are unchanged.
  void forward(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
               const TransformerDecoderLayerCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x` and `memory`.
  /// Passing a state or intermediates is an error: use Tape::watch() for intermediates.
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderLayerCall& call = {}) const;
  /// Also takes attention terms as variables; see MultiHeadAttention.
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderLayerCall& call, const AttentionVariables& self_terms,
                   const AttentionVariables& cross_terms) const;

  /// Returns a state with the projections of `memory`, which is (B, M, E) or (M, E). The state
  /// contains no tokens yet and initially has room for `capacity` of them. `type` is the type of
  /// both caches. Throws kShapeMismatch, kInvalidArgument (including for B = 0), kSizeOverflow or
  /// std::bad_alloc.
  State start(const ConstAnyTensor& memory, std::int64_t capacity = 0,
              Context& context = Context::default_context(),
              ElementType type = ElementType::kFloat32) const;

 private:
  friend class TransformerDecoder;
  void check_memory(const ConstAnyTensor& x, const ConstAnyTensor& memory, bool has_state) const;
  /// The forward pass, for tensors or for variables. When it throws, it may already have written to
  /// attention outputs and to the state.
  template <class Flow>
  ATTN_LOCAL void run(Flow& flow, const typename Flow::Memory& memory,
                      const TransformerDecoderLayerCall& call,
                      const typename Flow::Terms& self_terms,
                      const typename Flow::Terms& cross_terms) const;

  TransformerLayerOptions options_;
  MultiHeadAttention self_attention_, cross_attention_;
  std::variant<FeedForward, GatedFeedForward> feed_forward_;
  detail::SublayerNorms norms1_, norms2_, norms3_;
};

/// The state of a stack when decoding token by token, created by TransformerDecoder::start(). Copy
/// it to branch off a sequence, e.g. for beam search.
class ATTN_API TransformerDecoderState {
 public:
  /// The number of tokens decoded so far.
  std::int64_t length() const noexcept {
    return layers_.empty() ? 0 : layers_.front().self_attention.length();
  }

  /// Removes all tokens starting at position `length`. Throws kInvalidArgument unless 0 ≤ length ≤
  /// length().
  void truncate(std::int64_t length);

  std::span<const TransformerDecoderLayerState> layers() const noexcept { return layers_; }

 private:
  friend class TransformerDecoder;
  std::vector<TransformerDecoderLayerState> layers_;
};

/// The options of a call to a TransformerDecoder.
struct TransformerDecoderCall {
  /// Options for the attention of every layer. Do not set output tensors here, because every layer
  /// would write to them.
  AttentionOptions self_attention = {};
  AttentionOptions cross_attention = {};
  /// The positions of the tokens, as in TransformerDecoderLayerCall, for every layer with rotary
  /// positions. If no layer has rotary positions, passing positions is an error.
  TensorView<const double> positions = {};
  /// Layer l uses streams random.stream + 6·l to random.stream + 6·l + 5.
  Dropout dropout = {};
  /// None, or one tensor for each layer. Each tensor receives its layer's attention weights (B, H,
  /// Nq, Nk). Empty tensors are skipped.
  std::span<const Tensor> self_attention_weights = {};
  std::span<const Tensor> cross_attention_weights = {};
  /// None, or a state from start(); see TransformerDecoderLayerCall.
  TransformerDecoderState* state = nullptr;
  /// Receives intermediates: "layers.0.…" and so on for each layer, and "norm.output".
  Intermediates* intermediates = nullptr;
};

using TransformerDecoderOptions = TransformerEncoderOptions;

/// A stack of decoder layers (torch.nn.TransformerDecoder). Parameters: "layers.0.…" and so on.
/// With final_norm, there is also "norm.weight" and, if the norm is a LayerNorm, "norm.bias".
class ATTN_API TransformerDecoder : public Module {
 public:
  using State = TransformerDecoderState;

  /// Throws the same errors as TransformerEncoder.
  explicit TransformerDecoder(const TransformerDecoderOptions& options);

  const TransformerDecoderOptions& options() const noexcept { return options_; }
  std::span<const TransformerDecoderLayer> layers() const noexcept { return layers_; }

  /// Works like TransformerDecoderLayer::forward(). Also throws kInvalidArgument for a state with a
  /// different number of layers.
  void forward(const ConstAnyTensor& x, const ConstAnyTensor& memory, const AnyTensor& output,
               const TransformerDecoderCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x` and `memory`.
  /// Passing a state, weights or intermediates is an error.
  Variable forward(const Variable& x, const Variable& memory,
                   const TransformerDecoderCall& call = {}) const;
  /// Also takes attention terms as variables and uses them in every layer.
  Variable forward(const Variable& x, const Variable& memory, const TransformerDecoderCall& call,
                   const AttentionVariables& self_terms,
                   const AttentionVariables& cross_terms) const;

  /// Returns a state for all layers, like TransformerDecoderLayer::start().
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
