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
#include "attn/layers/interventions.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
struct AttentionVariables;

/// The T5Bias table of a layer. Values outside the domain of t5_bucket() are rejected.
struct T5BiasOptions {
  std::int64_t num_buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

/// The positional schemes of a layer's attention: none, one, or several together. All of them put
/// query i at key i + offset (see AttentionOptions::diagonal).
struct AttentionPositions {
  /// Rotates projected queries and keys. A rotary_dim of 0 means the whole head.
  std::optional<RotaryEmbeddingOptions> rotary = {};
  bool alibi = false;  ///< true adds ALiBi's bias, with the slopes from alibi_slopes()
  std::optional<T5BiasOptions> t5_bias = {};  ///< T5's bias, with a table that belongs to the layer
  /// If set, the layer has tables of Shaw's relative keys and values. This number is k, the largest
  /// distance that has its own row.
  std::optional<std::int64_t> max_relative_distance = {};
};

struct MultiHeadAttentionOptions {
  std::int64_t d_model = 0;    ///< E, width of queries and of the output
  std::int64_t num_heads = 1;  ///< H
  /// Number of heads of keys and values, which must divide num_heads; num_heads by default.
  std::optional<std::int64_t> num_kv_heads = {};
  /// D. The default is d_model / num_heads, which must then be a whole number.
  std::optional<std::int64_t> head_dim = {};
  /// Width of the keys passed in, before they are projected to heads; d_model by default.
  std::optional<std::int64_t> key_dim = {};
  /// Width of the values passed in; d_model by default.
  std::optional<std::int64_t> value_dim = {};
  bool bias = false;  ///< true if all four projections have biases: false in D2L, true by default
                      ///< in PyTorch
  /// A bias on the last projection; `bias` by default (off in Qwen 2).
  std::optional<bool> output_bias = {};
  /// QK-norm: normalises each head of queries and keys between projection and rotation, with the
  /// layer's own weights (Qwen 3, Gemma 3).
  std::optional<RmsNormOptions> qk_norm = {};
  /// Normalises each row of projected queries or keys as a whole instead of head by head (OLMo 2).
  /// Requires qk_norm.
  bool qk_norm_all_heads = false;
  AttentionPositions positions = {};
  bool sinks = false;  ///< true adds a learned score per head; see AttentionOptions::sinks
  // Defaults for the AttentionOptions of the same names.
  std::optional<float> scale = {};  ///< Gemma: 1/√query_pre_attn_scalar
  float softcap = 0;
  std::optional<Window> window = {};
  WeightFormat weights = {};  ///< format of the four projections
};

/// The options of a call to MultiHeadAttention.
struct MultiHeadAttentionCall {
  /// The options of scaled_dot_product_attention(), with Hq = num_heads: masks broadcast to (B, H,
  /// Nq, Nk), and `weights`, if set, receives (B, H, Nq, Nk). Positional terms, sinks, a scale, a
  /// softcap above 0 and a window that you set here replace the layer's own. Relative keys and
  /// values are replaced together: setting one of them drops both of the layer's tables.
  ///
  /// With packed sequences (cu_seqlens), rotary positions restart in each sequence, unless
  /// `positions` are given, and dynamic NTK scaling follows the number of keys in the sequence.
  /// cu_seqlens cannot be combined with a cache.
  AttentionOptions attention = {};
  /// The positions of the call's rows, or none. They affect rotary positions only. The shape is
  /// (Nq) or (B, Nq), as in RotaryPositions, or, for several axes, (A, B, Nq) or (A, 1, Nq), like
  /// Qwen2-VL's position_ids. The positions also apply to the keys, unless key_positions are given.
  /// Keys in a cache keep the rotation they got when they were appended. The causal order, windows
  /// and the other positional schemes still follow the order of the rows, and dynamic NTK scaling
  /// still follows the number of keys.
  TensorView<const double> positions = {};
  /// Positions of the keys: (Nk), (B, Nk), (A, B, Nk) or (A, 1, Nk), or none.
  TensorView<const double> key_positions = {};
  /// None, or a cache from make_cache(). With a cache, `key` and `value` (B, N, ·) are the next
  /// tokens of a sequence: they are projected and appended, and `query` (B, Nq, E) attends to
  /// everything in the cache.
  ///
  /// Positions, masks and lengths count from the beginning of the sequence. Let `past` =
  /// cache->length(). Then masks and lengths cover `past` + N keys, the first key of the call is at
  /// position `past`, and the first query is at `past` plus the offset of the diagonal. If no
  /// option has a shape that depends on the length, as a mask does, each token therefore gets the
  /// same result as in a single call with the whole sequence.
  ///
  /// With dynamic NTK scaling, each key is rotated for the sequence length at the time it is
  /// appended. Its rotation is not updated later.
  KeyValueCache* cache = nullptr;
  /// Receives intermediates, which cover the whole cache if there is one:
  ///
  /// - "q" (B, H, Nq, D), "k" and "v" (B, Hkv, Nk, D): the queries, keys and values that attention
  ///   uses. qk_norm and rotary positions are already applied to "q" and "k".
  /// - "projected_q" and "projected_k": this call's projections before qk_norm and rotary
  ///   positions. Available if the layer uses either of these.
  /// - "q_norm.output" (B, Nq, H, D) and "k_norm.output": the normalised projections of this call,
  ///   with qk_norm. With qk_norm_all_heads, the shape is (B, Nq, 1, H·D).
  /// - "scaled_scores", "capped_scores", "biased_scores" and "weights" (B, H, Nq, Nk), and
  ///   "log_sum_exp" (B, H, Nq), as in AttentionOptions.
  /// - "head_output" (B, H, Nq, D): weights · v.
  /// - "output": the result of the call.
  Intermediates* intermediates = nullptr;
  /// Changes intermediates while they are computed. Null means no changes.
  const Interventions* interventions = nullptr;
};

/// Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762; torch.nn.MultiheadAttention; D2L
/// 11.5):
///
///   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) of slice h
///   output = concat(head_1 … head_H) · W_oᵀ
///
/// A slice is D columns wide, and D = d_model / num_heads unless head_dim is set.
///
/// Parameters, with PyTorch's names and layouts, all initially zero:
///
/// - "in_proj_weight" (3·H·D, E): W_q, W_k and W_v stacked vertically. If keys or values have their
///   own width or number of heads, there are instead "q_proj_weight" (H·D, E), "k_proj_weight"
///   (Hkv·D, key_dim) and "v_proj_weight" (Hkv·D, value_dim).
/// - "out_proj.weight" (E, H·D).
/// - With biases, "in_proj_bias" ((H + 2·Hkv)·D) and "out_proj.bias" (E).
///
/// The other parameters, which PyTorch does not have, follow them:
///
/// - "relative_keys" and "relative_values" (2k+1, D): Shaw's tables, initially zero.
/// - "relative_attention_bias.weight" (num_buckets, H): T5's table, as in Hugging Face's T5,
///   initially zero.
/// - "sinks" (H), initially zero.
/// - "q_norm.weight" and "k_norm.weight", initially as in RmsNorm: (D) as in Hugging Face's Qwen 3,
///   or (H·D) and (Hkv·D) as in its OLMo 2.
///
/// For example:
///
///   attn::MultiHeadAttention layer({.d_model = 64, .num_heads = 4});
///   layer.initialize_xavier(1);
///   layer.forward(x, x, x, output, {.attention = {.causal = true}});  // x, output (B, N, 64)
class ATTN_API MultiHeadAttention : public Module {
 public:
  /// Throws kInvalidArgument if sizes are not divisible as required or options are outside their
  /// domains. May also throw kSizeOverflow or std::bad_alloc.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  const MultiHeadAttentionOptions& options() const noexcept;

  /// Sets all four projections to the identity, so that head h sees slice h of the unchanged
  /// inputs. Biases and sinks become zero, norms return to their initial values, and tables of
  /// relative positions do not change. Throws kInvalidArgument unless keys and values have d_model
  /// columns and num_heads heads, and the heads' columns add up to d_model.
  void initialize_identity(Context& context = Context::default_context());

  /// `query` is (B, Nq, E), `key` (B, Nk, key_dim), `value` (B, Nk, value_dim) and `output` (B, Nq,
  /// E). All may omit B. With rotary positions, key j is at position j and query i is at position i
  /// + offset, with the offset of `diagonal`.
  ///
  /// All may have any strides; `output` must not overlap an input. The error of the output combines
  /// the errors of Linear (four times), RmsNorm and scaled_dot_product_attention, each multiplied
  /// by the weights of the steps after it. Inputs and output may have any element types, as in
  /// Linear; the values in between are float32.
  ///
  /// Throws kShapeMismatch if a shape is wrong, including the sizes of a cache and the number of
  /// rows or axes of positions. Throws kInvalidArgument for invalid values, including positions
  /// passed to a layer without rotary positions. May also throw kSizeOverflow or std::bad_alloc. If
  /// it throws, outputs and the cache are unchanged.
  void forward(const ConstAnyTensor& query, const ConstAnyTensor& key, const ConstAnyTensor& value,
               const AnyTensor& output, const MultiHeadAttentionCall& call = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `query`, `key` and
  /// `value`. Passing a cache, intermediates or output tensors in `call.attention` is an error: use
  /// Tape::watch() instead. The tensors in `call` are copied.
  Variable forward(const Variable& query, const Variable& key, const Variable& value,
                   const MultiHeadAttentionCall& call = {}) const;

  /// Also takes score terms as variables (attn/training/attention.hpp). Each term replaces the
  /// option of the same name, even the layer's own. Its gradient has the term's own shape, even if
  /// the term is broadcast. A t5_table also requires the option t5_bias in `call.attention`.
  ///
  ///   layer.forward(x, x, x, {.attention = {.causal = true}}, {.bias = bias})
  Variable forward(const Variable& query, const Variable& key, const Variable& value,
                   const MultiHeadAttentionCall& call, const AttentionVariables& terms) const;

  // Decoding token by token, with the projected keys and values of past tokens in a cache.

  /// Returns an empty cache with the sizes of this layer and initial room for `capacity` tokens.
  /// Throws the same errors as KeyValueCache.
  KeyValueCache make_cache(std::int64_t batch, std::int64_t capacity = 0,
                           ElementType type = ElementType::kFloat32) const;

  /// Projects `key` and `value` and appends them to the cache. For cross attention, call this once
  /// and then attend() in every step. `positions` are the positions of the keys, like
  /// MultiHeadAttentionCall::key_positions. Throws the same errors as forward(). If append()
  /// throws, the cache is unchanged.
  void append(const ConstAnyTensor& key, const ConstAnyTensor& value, KeyValueCache& cache,
              Context& context = Context::default_context(),
              const TensorView<const double>& positions = {}) const;

  /// `query` attends to the keys and values in the cache. The diagonal is not shifted by the past
  /// length: query i is at key i + offset. With rotary positions, query i is also rotated for
  /// position i + offset, unless `positions` are given. Throws the same errors as forward().
  void attend(const ConstAnyTensor& query, const KeyValueCache& cache, const AnyTensor& output,
              const AttentionOptions& attention = {}, Context& context = Context::default_context(),
              Intermediates* intermediates = nullptr,
              const TensorView<const double>& positions = {}) const;

 private:
  struct ATTN_LOCAL Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace attn
