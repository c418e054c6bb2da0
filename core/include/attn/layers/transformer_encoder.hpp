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
#include "attn/layers/contributions.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class LanguageModel;
class Variable;
struct AttentionVariables;

/// The options of one Transformer layer, with PyTorch's names. The defaults describe
/// torch.nn.TransformerEncoderLayer(batch_first=True). For D2L's TransformerEncoderBlock (11.7.4),
/// set attention_bias = false and feed_forward_dropout = false.
///
/// These options also describe the blocks of current language models, each with `causal` attention
/// in the call and a final norm after the stack (rope_theta is a field of the model's config.json):
///
///   GPT-2      .activation = kGeluTanh, .norm_first
///   Llama      .activation = kSilu, .gated_feed_forward, .rms_norm = {{.eps = …}}, .norm_first,
///              .bias = false, .num_kv_heads, .positions = {.rotary = {{.base = rope_theta}}}
///   Qwen 2     like Llama; .attention_bias = true, .attention_output_bias = false
///   Qwen 3     like Llama; .head_dim, .qk_norm
///   Gemma 3    like Qwen 3; .activation = kGeluTanh, .norm_outputs, .scale, zero_centred_weight in
///              .rms_norm and .qk_norm; a separate .window and rotary base per layer
///   OLMo 2     like Llama, but without .norm_first; .norm_outputs, .qk_norm, .qk_norm_all_heads
///   gpt-oss    like Llama; .attention_bias = true, .sinks, a .window in every other layer
///   GPT-NeoX   .activation = kGelu, .norm_first, .parallel_residual, .positions with rotary_dim
///   GPT-Neo    like GPT-2; .attention_bias = false, .attention_output_bias = true, .scale = 1, a
///              .window in every other layer
///   OPT        .norm_first
///   T5         .rms_norm, .norm_first, .bias = false, .scale = 1, .head_dim, .positions with
///              t5_bias; shared_t5_bias in the stack
///   Marian     .activation = kSilu
struct TransformerLayerOptions {
  std::int64_t d_model = 0;
  std::int64_t num_heads = 1;  ///< PyTorch's nhead
  std::int64_t dim_feedforward = 2048;
  Activation activation = Activation::kRelu;
  bool gated_feed_forward = false;  ///< use GatedFeedForward instead of FeedForward
  float layer_norm_eps = 1e-5F;
  /// Uses RmsNorm with these options instead of LayerNorm.
  std::optional<RmsNormOptions> rms_norm = {};
  bool norm_first = false;  ///< use pre-norm instead of post-norm
  /// Normalises the outputs of attention and of the feed-forward network before they are added to
  /// the residual stream. With norm_first, the inputs of both are normalised too (Gemma 2 and 3).
  /// Without norm_first, only the outputs are normalised (OLMo 2).
  bool norm_outputs = false;
  /// True if attention and the feed-forward network both read the layer's input and both results
  /// are added to it, as in GPT-NeoX. Requires norm_first.
  bool parallel_residual = false;
  bool bias = true;  ///< true if all linear layers and LayerNorms have biases
  std::optional<bool> attention_bias =
      {};  ///< true if the attention projections have biases; `bias` by default
  /// Bias in the last attention projection; attention_bias by default.
  std::optional<bool> attention_output_bias = {};
  /// In training, also applies dropout between the two layers of the feed-forward network.
  bool feed_forward_dropout = true;
  // Attention options; see MultiHeadAttentionOptions.
  std::optional<std::int64_t> num_kv_heads = {};
  std::optional<std::int64_t> head_dim = {};
  std::optional<RmsNormOptions> qk_norm = {};
  bool qk_norm_all_heads = false;
  std::optional<float> scale = {};
  float softcap = 0;
  // Options for self-attention only.
  AttentionPositions positions = {};
  bool sinks = false;
  std::optional<Window> window = {};
  /// The format of all matrices of attention and of the feed-forward network.
  WeightFormat weights = {};
};

namespace detail {

using Norm = std::variant<LayerNorm, RmsNorm>;

/// The norms around attention or a feed-forward network.
struct SublayerNorms {
  std::optional<Norm> norm;  ///< norm of the input or, with post-norm, of the residual sum
  std::optional<Norm>
      output_norm;  ///< norm of the output before it is added to the residual stream
};

}  // namespace detail

/// The options of a call to a TransformerEncoderLayer.
struct TransformerEncoderLayerCall {
  /// Options of self-attention. Use `dropout` below: it already covers the attention weights, so
  /// setting a dropout in these options is an error.
  AttentionOptions attention = {};
  /// The positions of the tokens, for rotary positions; see MultiHeadAttentionCall.
  TensorView<const double> positions = {};
  /// In training, dropout acts in four places: on the attention weights, after attention, and
  /// within and after the feed-forward network. Uses streams random.stream to random.stream + 3.
  Dropout dropout = {};
  /// None, or a cache from self_attention().make_cache(). With a cache, the rows of `x` are the
  /// next tokens of a sequence: they also attend to all tokens before them, and are appended to the
  /// cache (see MultiHeadAttentionCall). A causal layer gives the same results token by token as
  /// for the whole sequence.
  KeyValueCache* cache = nullptr;
  /// Receives intermediates:
  ///
  /// - "self_attn.…"; see MultiHeadAttentionCall.
  /// - "linear1.output", "hidden" and "linear2.output", as in FeedForward, or the names in
  ///   GatedFeedForward.
  /// - "norm1.output" and so on for each norm of the layer, and "output".
  /// - "attn_out", which is dropout(self_attn(…)), and "mlp_out", which is
  ///   dropout(feed_forward(…)): the values that are added to the residual stream.
  /// - "resid_pre" (x), "resid_mid" (x + attn_out) and "resid_post" (h + mlp_out): the residual
  ///   stream, with TransformerLens' names. With post-norm, "resid_mid" and "resid_post" are the
  ///   sums before they are normalised. TransformerEncoderLayer defines h.
  Intermediates* intermediates = nullptr;
  /// Changes intermediates while they are computed. Null means no changes.
  const Interventions* interventions = nullptr;
};

/// A layer of a Transformer's encoder (Vaswani et al. 2017; torch.nn.TransformerEncoderLayer):
///
///   post-norm:  h = norm1(x + dropout(self_attn(x, x, x)))
///               output = norm2(h + dropout(feed_forward(h)))
///   pre-norm:   h = x + dropout(self_attn(n, n, n)),  n = norm1(x)
///               output = h + dropout(feed_forward(norm2(h)))
///
/// With norm_outputs, output_norm1(self_attn(…)) and output_norm2(feed_forward(…)) replace
/// self_attn(…) and feed_forward(…). With norm_outputs but without norm_first, the layer has
/// neither norm1 nor norm2. With parallel_residual, the feed-forward network reads norm2(x) instead
/// of norm2(h).
///
/// Parameters, in PyTorch's order: "self_attn.…" (see MultiHeadAttention), "linear1.…" and
/// "linear2.…" (FeedForward) or "gate_proj.…", "up_proj.…" and "down_proj.…" (GatedFeedForward),
/// "norm1.…" and "norm2.…", "output_norm1.…" and "output_norm2.…" (LayerNorm or RmsNorm).
///
/// Error: with weights of standard deviation 1/√(number of columns), and therefore values of the
/// order of 1, outputs are within 1e-5 of the exact values for d_model up to 64. Larger values have
/// larger errors; see the inner layers.
///
/// PyTorch's arguments correspond to these options: src_mask is AttentionOptions::mask (true for
/// keys that take part) or bias; src_key_padding_mask is valid_lens, or a mask of shape (B, 1, 1,
/// N) if the padding is not at the end; and is_causal is `causal`.
class ATTN_API TransformerEncoderLayer : public Module {
 public:
  /// Throws the errors of the inner layers, and kInvalidArgument if both layer_norm_eps and
  /// rms_norm are set.
  explicit TransformerEncoderLayer(const TransformerLayerOptions& options);

  const TransformerLayerOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self_attention() const noexcept { return self_attention_; }

  /// `x` is (B, N, E) or (N, E); `output` has the same shape. Both may have any strides. `output`
  /// may be `x` itself; otherwise the two must not overlap. Both may have any element types: the
  /// result is computed in float32 from the exact values of x and rounded once. Throws
  /// kShapeMismatch, kInvalidArgument, kSizeOverflow or std::bad_alloc. If it throws, outputs and
  /// the cache are unchanged.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const TransformerEncoderLayerCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. Passing a cache or
  /// intermediates is an error: use Tape::watch() for intermediates.
  Variable forward(const Variable& x, const TransformerEncoderLayerCall& call = {}) const;
  /// Also takes attention terms as variables; see MultiHeadAttention.
  Variable forward(const Variable& x, const TransformerEncoderLayerCall& call,
                   const AttentionVariables& terms) const;

 private:
  friend class TransformerEncoder;
  /// The forward pass, for tensors or for variables. When it throws, it may already have written to
  /// attention outputs and to the cache.
  template <class Flow>
  ATTN_LOCAL void run(Flow& flow, const TransformerEncoderLayerCall& call,
                      const typename Flow::Terms& terms) const;

  TransformerLayerOptions options_;
  MultiHeadAttention self_attention_;
  std::variant<FeedForward, GatedFeedForward> feed_forward_;
  detail::SublayerNorms norms1_, norms2_;
};

/// The options of a stack of encoder or decoder layers.
struct TransformerEncoderOptions {
  TransformerLayerOptions layer = {};
  std::int64_t num_layers = 1;
  /// Adds a norm after the last layer, of the same kind as the norms in the layers. This norm is
  /// usual with pre-norm and corresponds to PyTorch's argument `norm`.
  bool final_norm = false;
  /// True if all layers use the T5 bias of the first layer, as in T5. Only the first layer then has
  /// a table, "layers.0.self_attn.relative_attention_bias.weight". The layers' other options may
  /// differ, except num_heads. A layer that runs alone, outside its stack, has no bias unless it is
  /// the first.
  bool shared_t5_bias = false;
  /// If not empty, this list gives the options of each layer and replaces `layer` and num_layers.
  /// Use it if layers differ in windows, positions or sizes. All layers must have the same d_model.
  std::vector<TransformerLayerOptions> layers = {};
};

/// The options of a call to a TransformerEncoder.
struct TransformerEncoderCall {
  /// Options for the attention of every layer, which replace the layers' own options. Do not set
  /// output tensors here, because every layer would write to them.
  AttentionOptions attention = {};
  /// The positions of the tokens, as in TransformerEncoderLayerCall, for every layer with rotary
  /// positions. If no layer has rotary positions, passing positions is an error.
  TensorView<const double> positions = {};
  /// Layer l uses streams random.stream + 4·l to random.stream + 4·l + 3.
  Dropout dropout = {};
  /// None, or one tensor for each layer. Each tensor receives its layer's attention weights (B, H,
  /// Nq, Nk). Empty tensors are skipped.
  std::span<const Tensor> weights = {};
  /// None, or the caches from make_caches(); see TransformerEncoderLayerCall. With `causal`
  /// attention, the stack is a decoder without cross attention, like GPT.
  std::span<KeyValueCache> caches = {};
  /// Receives intermediates: "layers.0.…" and so on for each layer, and "norm.output".
  Intermediates* intermediates = nullptr;
  /// Changes intermediates while they are computed. Null means no changes.
  const Interventions* interventions = nullptr;
};

/// A stack of encoder layers (torch.nn.TransformerEncoder). Parameters: "layers.0.…" and so on.
/// With final_norm, there is also "norm.weight" and, if the norm is a LayerNorm, "norm.bias".
class ATTN_API TransformerEncoder : public Module {
 public:
  /// Throws the errors of the layers, and kInvalidArgument for fewer than one layer, for `layers`
  /// of different widths, and for a num_layers that differs from the number of `layers`.
  explicit TransformerEncoder(const TransformerEncoderOptions& options);

  const TransformerEncoderOptions& options() const noexcept { return options_; }
  std::span<const TransformerEncoderLayer> layers() const noexcept { return layers_; }

  /// The requirements for `x` and `output` are the same as for a layer. Throws kShapeMismatch,
  /// kInvalidArgument, kSizeOverflow or std::bad_alloc. If it throws, outputs and caches are
  /// unchanged.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const TransformerEncoderCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. Passing caches,
  /// weights or intermediates is an error.
  Variable forward(const Variable& x, const TransformerEncoderCall& call = {}) const;
  /// Also takes attention terms as variables and uses them in every layer. For example, all layers
  /// can share a T5 table.
  Variable forward(const Variable& x, const TransformerEncoderCall& call,
                   const AttentionVariables& terms) const;

  /// Multiplies `direction` (E) by row `position` of the output for `x` (N, E), and splits the dot
  /// product into the contributions of the embedding, the heads, the feed-forward networks and the
  /// biases. The call may only set attention and positions. Throws the errors of forward(),
  /// kInvalidArgument if the position is out of range or the call sets another option, and
  /// kUnsupported unless every layer has norm_first or norm_outputs.
  Contributions contributions(const ConstTensor& x, const ConstTensor& direction,
                              std::int64_t position, const TransformerEncoderCall& call = {},
                              Context& context = Context::default_context()) const;

  /// Returns an empty cache for each layer, with initial room for `capacity` tokens. Throws the
  /// same errors as KeyValueCache.
  std::vector<KeyValueCache> make_caches(std::int64_t batch, std::int64_t capacity = 0,
                                         ElementType type = ElementType::kFloat32) const;

 private:
  friend class LanguageModel;
  void run(const ConstAnyTensor& x, const AnyTensor& output, const TransformerEncoderCall& call,
           Context& context) const;

  TransformerEncoderOptions options_;
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<detail::Norm> norm_;
};

}  // namespace attn
