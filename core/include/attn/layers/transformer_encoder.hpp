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
#include "attn/layers/activation.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
struct AttentionVariables;

/// Of one layer of a Transformer; the names are PyTorch's. With the defaults and norm_first false
/// it is torch.nn.TransformerEncoderLayer(batch_first=True); D2L's TransformerEncoderBlock (11.7.4)
/// is attention_bias = false and feed_forward_dropout = false.
///
/// The blocks of today's language models are options, too, each with `causal` attention in the call
/// and a final norm behind the stack (names in Transformers' configuration to the right):
///
///   GPT-2      .activation = kGeluTanh, .norm_first
///   Llama      .activation = kSilu, .gated_feed_forward, .rms_norm = {{.eps = …}}, .norm_first,
///              .bias = false, .num_kv_heads, .positions = {.rotary = {{.base = rope_theta}}}
///   Qwen 2     as Llama; attention_bias = true, attention_output_bias = false
///   Qwen 3     as Llama; head_dim, qk_norm
///   Gemma 3    as Qwen 3; .activation = kGeluTanh, .norm_outputs, .scale, in rms_norm and qk_norm
///              zero_centred_weight; and layer by layer a window, and the rotary base
///   OLMo 2     as Llama, without norm_first; .norm_outputs, .qk_norm, .qk_norm_all_heads
///   gpt-oss    as Llama; attention_bias = true, .sinks, a window in every other layer
struct TransformerLayerOptions {
  std::int64_t d_model = 0;
  std::int64_t num_heads = 1;  ///< PyTorch's nhead
  std::int64_t dim_feedforward = 2048;
  Activation activation = Activation::kRelu;
  bool gated_feed_forward = false;  ///< GatedFeedForward in place of FeedForward
  float layer_norm_eps = 1e-5F;
  /// RmsNorm, with options of its own, in place of LayerNorm.
  std::optional<RmsNormOptions> rms_norm = {};
  bool norm_first = false;  ///< pre-norm instead of post-norm
  /// Normalises what attention and the feed-forward network give before it is added: with
  /// norm_first as well as their inputs (Gemma 2 and 3), without it instead (OLMo 2).
  bool norm_outputs = false;
  bool bias = true;                         ///< of all linear layers and LayerNorms
  std::optional<bool> attention_bias = {};  ///< of attention's projections; `bias` by default
  /// Of the last one of them; attention_bias by default.
  std::optional<bool> attention_output_bias = {};
  /// In training, drops out between the two layers of the feed-forward network too.
  bool feed_forward_dropout = true;
  // Of attention, see MultiHeadAttentionOptions.
  std::optional<std::int64_t> num_kv_heads = {};
  std::optional<std::int64_t> head_dim = {};
  std::optional<RmsNormOptions> qk_norm = {};
  bool qk_norm_all_heads = false;
  std::optional<float> scale = {};
  float softcap = 0;
  // Of self-attention alone.
  AttentionPositions positions = {};
  bool sinks = false;
  std::optional<Window> window = {};
  /// Of all matrices: those of attention and of the feed-forward network.
  WeightFormat weights = {};
};

namespace detail {

using Norm = std::variant<LayerNorm, RmsNorm>;

/// The norms around attention or a feed-forward network.
struct SublayerNorms {
  std::optional<Norm> norm;         ///< of its input or, post-norm, of the sum
  std::optional<Norm> output_norm;  ///< of what it gives
};

}  // namespace detail

/// What a pass through a layer of an encoder may be given.
struct TransformerEncoderLayerCall {
  /// Of self-attention. Its own dropout is refused: that of the call acts on the weights, too.
  AttentionOptions attention = {};
  /// Where the tokens stand, for rotary positions: see MultiHeadAttentionCall.
  TensorView<const double> positions = {};
  /// In training acts in four places (on attention's weights, after attention, within and after the
  /// feed-forward network) with streams random.stream … + 3.
  Dropout dropout = {};
  /// None, or that of self_attention().make_cache(): x are then the next tokens of a sequence,
  /// which attend to all before them, too, and are appended; see MultiHeadAttentionCall. A causal
  /// layer then gives token by token what it gives for the whole sequence.
  KeyValueCache* cache = nullptr;
  /// Intermediates to be shown: "self_attn.…" (see MultiHeadAttentionCall), "linear1.output",
  /// "hidden" and "linear2.output" (FeedForward) or those of GatedFeedForward, "norm1.output" and
  /// so on of the norms that there are; the residual stream, with TransformerLens' names,
  /// "resid_pre" (x), "resid_mid" (x + dropout(self_attn(…))) and "resid_post"
  /// (h + dropout(feed_forward(…))), where post-norm has yet to normalise the last two; and
  /// "output".
  Intermediates* intermediates = nullptr;
};

/// A layer of a Transformer's encoder (Vaswani et al. 2017; torch.nn.TransformerEncoderLayer):
///
///   post-norm:  h = norm1(x + dropout(self_attn(x, x, x)))
///               output = norm2(h + dropout(feed_forward(h)))
///   pre-norm:   h = x + dropout(self_attn(n, n, n)),  n = norm1(x)
///               output = h + dropout(feed_forward(norm2(h)))
///
/// With norm_outputs, output_norm1(self_attn(…)) and output_norm2(feed_forward(…)) stand in place
/// of self_attn(…) and feed_forward(…), and without norm_first there are no norm1 and norm2.
///
/// Parameters, in PyTorch's order: "self_attn.…" (see MultiHeadAttention), "linear1.…" and
/// "linear2.…" (FeedForward) or "gate_proj.…", "up_proj.…" and "down_proj.…" (GatedFeedForward),
/// "norm1.…" and "norm2.…", "output_norm1.…" and "output_norm2.…" (LayerNorm or RmsNorm).
///
/// Error: with weights of deviation 1/√(their columns), and so values of the order of 1, outputs
/// are within 1e-5 of the exact ones for d_model up to 64; larger values carry larger errors, see
/// the layers inside.
///
/// In PyTorch, src_mask is AttentionOptions::mask (with true for what takes part) or bias,
/// src_key_padding_mask is valid_lens, or a mask of shape (B, 1, 1, N) where the padding is not at
/// the end, and is_causal is `causal`.
class ATTN_API TransformerEncoderLayer : public Module {
 public:
  /// Throws what the layers inside do, and kInvalidArgument for a layer_norm_eps beside rms_norm.
  explicit TransformerEncoderLayer(const TransformerLayerOptions& options);

  const TransformerLayerOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self_attention() const noexcept { return self_attention_; }

  /// x (B, N, E) or (N, E), output of the same shape; any strides; output may be x itself,
  /// otherwise they must not overlap. Both may be of any type, in any mix: what is computed from
  /// the exact values of x, in float32, is rounded once. Throws kShapeMismatch, kInvalidArgument,
  /// kSizeOverflow, std::bad_alloc; outputs and the cache are then as they were.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const TransformerEncoderLayerCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x; a cache and intermediates are refused, see Tape::watch().
  Variable forward(const Variable& x, const TransformerEncoderLayerCall& call = {}) const;
  /// The same with terms of attention that are variables, see MultiHeadAttention.
  Variable forward(const Variable& x, const TransformerEncoderLayerCall& call,
                   const AttentionVariables& terms) const;

 private:
  friend class TransformerEncoder;
  /// May have written to outputs of attention, and to the cache, when it throws.
  void run(const ConstAnyTensor& x, const AnyTensor& output,
           const TransformerEncoderLayerCall& call, Context& context) const;

  TransformerLayerOptions options_;
  MultiHeadAttention self_attention_;
  std::variant<FeedForward, GatedFeedForward> feed_forward_;
  detail::SublayerNorms norms1_, norms2_;
};

/// Of a stack, of an encoder or a decoder.
struct TransformerEncoderOptions {
  TransformerLayerOptions layer = {};
  std::int64_t num_layers = 1;
  /// A norm of the layers' kind after the last one: PyTorch's argument `norm`, usual with pre-norm.
  bool final_norm = false;
  /// When not empty, the options of each layer, in place of `layer` and num_layers: for layers that
  /// differ in windows, positions or sizes. All have the same d_model.
  std::vector<TransformerLayerOptions> layers = {};
};

/// What a pass through a TransformerEncoder may be given.
struct TransformerEncoderCall {
  /// For each layer, as for one: what is given here stands in place of every layer's own. Outputs
  /// other than the output have to be empty: every layer would write them.
  AttentionOptions attention = {};
  /// As of a layer, for each that has rotary positions; refused where none has.
  TensorView<const double> positions = {};
  /// Layer l uses streams random.stream + 4·l … + 3.
  Dropout dropout = {};
  /// None, or one for each layer: receives its attention weights, (B, H, Nq, Nk). Empty ones are
  /// left out.
  std::span<const Tensor> weights = {};
  /// None, or those of make_caches(), as the cache of a layer. With `causal` attention the stack is
  /// a decoder without cross attention, as GPT.
  std::span<KeyValueCache> caches = {};
  /// Intermediates to be shown: "layers.0.…" and so on of each layer, and "norm.output".
  Intermediates* intermediates = nullptr;
};

/// A stack of such layers (torch.nn.TransformerEncoder). Parameters: "layers.0.…" and so on, and
/// with final_norm "norm.weight" and, where it is a LayerNorm, "norm.bias".
class ATTN_API TransformerEncoder : public Module {
 public:
  /// Throws what the layers do, and kInvalidArgument for less than one, and for `layers` of several
  /// widths or of another number than a num_layers that is given.
  explicit TransformerEncoder(const TransformerEncoderOptions& options);

  const TransformerEncoderOptions& options() const noexcept { return options_; }
  std::span<const TransformerEncoderLayer> layers() const noexcept { return layers_; }

  /// x and output as for a layer. Throws kShapeMismatch, kInvalidArgument, kSizeOverflow,
  /// std::bad_alloc; outputs are then untouched, and the caches as they were.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const TransformerEncoderCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x; caches, weights and intermediates are refused.
  Variable forward(const Variable& x, const TransformerEncoderCall& call = {}) const;
  /// The same with terms of every layer's attention that are variables, such as a T5 table that all
  /// layers share.
  Variable forward(const Variable& x, const TransformerEncoderCall& call,
                   const AttentionVariables& terms) const;

  /// An empty cache for each layer, with room for `capacity` tokens at first. Throws what
  /// KeyValueCache does.
  std::vector<KeyValueCache> make_caches(std::int64_t batch, std::int64_t capacity = 0,
                                         ElementType type = ElementType::kFloat32) const;

 private:
  void run(const ConstAnyTensor& x, const AnyTensor& output, const TransformerEncoderCall& call,
           Context& context) const;

  TransformerEncoderOptions options_;
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<detail::Norm> norm_;
};

}  // namespace attn
