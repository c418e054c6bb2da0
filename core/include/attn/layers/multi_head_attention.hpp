#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attn/any_tensor.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
struct AttentionVariables;

/// Which table of T5Bias a layer has; values outside of what t5_bucket() takes are refused.
struct T5BiasOptions {
  std::int64_t num_buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

/// How a layer's attention knows positions: by none of these, any one, or several together. All
/// take query i to be at key i + offset, see AttentionOptions::diagonal.
struct AttentionPositions {
  /// Rotates projected queries and keys; a rotary_dim of 0 stands for the whole head.
  std::optional<RotaryEmbeddingOptions> rotary = {};
  bool alibi = false;                         ///< AttentionOptions::alibi_slopes, of alibi_slopes()
  std::optional<T5BiasOptions> t5_bias = {};  ///< with a table of the layer's own
  /// k of Shaw's relative keys and values, with tables of the layer's own.
  std::optional<std::int64_t> max_relative_distance = {};
};

struct MultiHeadAttentionOptions {
  std::int64_t d_model = 0;                       ///< E, width of queries and of the output
  std::int64_t num_heads = 1;                     ///< H
  std::optional<std::int64_t> num_kv_heads = {};  ///< heads of keys and values; divides num_heads
  /// D; d_model / num_heads by default, which then has to be a whole number.
  std::optional<std::int64_t> head_dim = {};
  /// Width of the keys given, before they are projected to heads; d_model by default.
  std::optional<std::int64_t> key_dim = {};
  /// The same of the values.
  std::optional<std::int64_t> value_dim = {};
  bool bias = false;  ///< biases on all four projections; D2L has none, PyTorch does by default
  std::optional<bool> output_bias = {};  ///< on the last one; `bias` by default (Qwen 2: none)
  /// Normalises each head of queries and keys after its projection and before it is rotated, with
  /// weights of the layer's own (Qwen 3, Gemma 3): "qk-norm".
  std::optional<RmsNormOptions> qk_norm = {};
  /// Normalises all heads together instead, each row of projected queries or keys as a whole (OLMo
  /// 2); needs qk_norm.
  bool qk_norm_all_heads = false;
  AttentionPositions positions = {};
  bool sinks = false;  ///< a learned score per head that has no value, see AttentionOptions::sinks
  // As in AttentionOptions, for calls that give none.
  std::optional<float> scale = {};  ///< Gemma: 1/√query_pre_attn_scalar
  float softcap = 0;
  std::optional<Window> window = {};
  WeightFormat weights = {};  ///< of the four projections
};

/// What a pass through multi-head attention may be given.
struct MultiHeadAttentionCall {
  /// As for scaled_dot_product_attention with Hq = num_heads: masks broadcast to (B, H, Nq, Nk),
  /// and its `weights`, if given, receives (B, H, Nq, Nk). Terms of positions and sinks that it
  /// gives stand in place of the layer's own, relative keys and values together: giving one of the
  /// two leaves out both of the layer's. So do a scale, a softcap above 0 and a window.
  AttentionOptions attention = {};
  /// Where the rows of the call stand, for rotary positions alone: none, or as in RotaryPositions
  /// (Nq) or (B, Nq), and along several axes (A, B, Nq) or (A, 1, Nq), as Qwen2-VL's position_ids.
  /// They are those of the keys, too, unless key_positions are given. What a cache holds stays
  /// where it was rotated to. The causal order, windows and all other positions go by the order of
  /// the rows as ever, and dynamic NTK scaling by the number of keys.
  TensorView<const double> positions = {};
  TensorView<const double> key_positions =
      {};  ///< (Nk), (B, Nk), (A, B, Nk) or (A, 1, Nk), or none
  /// None, or that of make_cache(): key and value (B, N, ·) are then the next tokens of a sequence;
  /// they are projected and appended, and query (B, Nq, E) attends to all that the cache holds.
  ///
  /// Everything counts from the beginning of the sequence: masks and lengths are over past + N
  /// keys, and the first query and key of the call stand at position past = cache->length(), to
  /// which the offset of the diagonal is added. So options that need no other shape give for each
  /// token what they give when the whole sequence is passed at once.
  ///
  /// Dynamic NTK scaling rotates each key for the length at its time, and does not come back to it.
  KeyValueCache* cache = nullptr;
  /// Intermediates to be shown, those of a cache included where there is one:
  ///   "q" (B, H, Nq, D), "k" and "v" (B, Hkv, Nk, D): as they enter the scores, so normalised with
  ///   qk_norm, and rotated where positions are rotary; with either "projected_q" and "projected_k"
  ///   are what this call has projected, before that, and with qk_norm "q_norm.output" (B, Nq, H,
  ///   D) and "k_norm.output" what it has normalised, (B, Nq, 1, H·D) with
  ///   qk_norm_all_heads; "scaled_scores", "capped_scores", "biased_scores", "weights" (B, H, Nq,
  ///   Nk) and "log_sum_exp" (B, H, Nq): as in AttentionOptions; "head_output" (B, H, Nq, D):
  ///   weights · v; and "output".
  Intermediates* intermediates = nullptr;
};

/// Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762; torch.nn.MultiheadAttention; D2L
/// 11.5):
///
///   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) of slice h
///   output = concat(head_1 … head_H) · W_oᵀ
///
/// where a slice is D columns wide, D = d_model / num_heads unless head_dim says otherwise.
///
/// Parameters, with PyTorch's names and layouts, zeros at first:
///   "in_proj_weight" (3·H·D, E): W_q, W_k, W_v one below the other; where keys and values have
///   their own width or number of heads instead "q_proj_weight" (H·D, E), "k_proj_weight" (Hkv·D,
///   key_dim) and "v_proj_weight" (Hkv·D, value_dim); "out_proj.weight" (E, H·D); and with biases
///   "in_proj_bias" ((H + 2·Hkv)·D) and "out_proj.bias" (E).
/// What PyTorch does not have follows: "relative_keys" and "relative_values" (2k+1, D) of Shaw's
///   positions, "relative_attention_bias.weight" (num_buckets, H) as Hugging Face's T5, "sinks"
///   (H), and, as Hugging Face's Qwen 3, "q_norm.weight" and "k_norm.weight" (D), or as its OLMo 2
///   (H·D) and (Hkv·D).
class ATTN_API MultiHeadAttention : public Module {
 public:
  /// Throws kInvalidArgument where the sizes do not divide or options are outside their domains,
  /// kSizeOverflow, std::bad_alloc.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  const MultiHeadAttentionOptions& options() const noexcept;

  /// All four projections become the identity: head h sees slice h of its inputs as they are.
  /// Biases and sinks become zero, norms as they are at first, tables of relative positions stay.
  /// Throws kInvalidArgument unless keys and values have d_model columns and num_heads heads, which
  /// are d_model columns together.
  void initialize_identity(Context& context = Context::default_context());

  /// query (B, Nq, E), key (B, Nk, key_dim), value (B, Nk, value_dim), output (B, Nq, E), or all
  /// without B. With rotary positions key j is at j and query i at i + offset of `diagonal`.
  ///
  /// Any strides; output must not overlap an input. Errors are those of Linear, four times, of
  /// RmsNorm, and of scaled_dot_product_attention, each multiplied by the weights that follow.
  /// Inputs and output may be of any type, in any mix, as of Linear; what lies between is float32.
  ///
  /// Throws kShapeMismatch, also for a cache of other sizes and positions of other rows or axes,
  /// kInvalidArgument, also for positions where the layer has no rotary ones, kSizeOverflow,
  /// std::bad_alloc; outputs and the cache are then as they were.
  void forward(const ConstAnyTensor& query, const ConstAnyTensor& key, const ConstAnyTensor& value,
               const AnyTensor& output, const MultiHeadAttentionCall& call = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of query, key and value, with the same options. A cache,
  /// intermediates and further outputs of `call.attention` are errors: see Tape::watch(). Tensors
  /// of the call are copied.
  Variable forward(const Variable& query, const Variable& key, const Variable& value,
                   const MultiHeadAttentionCall& call = {}) const;

  /// The same with terms that are variables
  /// (attn/training/attention.hpp): each takes the place of the option of its name, and so of the
  /// layer's own, and is given its gradient, in its own shape where it is broadcast. A t5_table
  /// needs the t5_bias of `call.attention` beside it.
  ///
  ///   layer.forward(x, x, x, {.attention = {.causal = true}}, {.bias = bias})
  Variable forward(const Variable& query, const Variable& key, const Variable& value,
                   const MultiHeadAttentionCall& call, const AttentionVariables& terms) const;

  // Decoding token by token, with the projected keys and values of past tokens in a cache.

  /// An empty cache of the sizes that this layer needs, with room for `capacity` tokens at first.
  /// Throws what KeyValueCache does.
  KeyValueCache make_cache(std::int64_t batch, std::int64_t capacity = 0,
                           ElementType type = ElementType::kFloat32) const;

  /// Projects key and value and appends them: for cross attention, whose keys and values are
  /// projected once and then attended to in every step. `positions` are those of the keys, as
  /// MultiHeadAttentionCall::key_positions. Throws what forward does; the cache is then as it was.
  void append(const ConstAnyTensor& key, const ConstAnyTensor& value, KeyValueCache& cache,
              Context& context = Context::default_context(),
              const TensorView<const double>& positions = {}) const;

  /// query attends to what the cache holds, in place of keys and values. The diagonal is as given:
  /// query i is at key i + offset, unless `positions` of the queries say where its rotation is.
  /// Throws what forward does.
  void attend(const ConstAnyTensor& query, const KeyValueCache& cache, const AnyTensor& output,
              const AttentionOptions& attention = {}, Context& context = Context::default_context(),
              Intermediates* intermediates = nullptr,
              const TensorView<const double>& positions = {}) const;

 private:
  struct ATTN_LOCAL Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace attn
