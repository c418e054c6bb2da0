#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/module.hpp"
#include "attn/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct MultiHeadAttentionOptions {
  std::int64_t d_model = 0;                       ///< E, width of queries and of the output
  std::int64_t num_heads = 1;                     ///< H, divides d_model
  std::optional<std::int64_t> num_kv_heads = {};  ///< heads of keys and values; divides num_heads
  std::optional<std::int64_t> key_dim = {};       ///< width of the keys given; d_model by default
  std::optional<std::int64_t> value_dim = {};     ///< width of the values given; d_model by default
  bool bias = false;                              ///< biases on all four projections
};

/// Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762; torch.nn.MultiheadAttention; D2L
/// 11.5):
///
///   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) of slice h,   D = d_model /
///   num_heads output = concat(head_1 … head_H) · W_oᵀ
///
/// Parameters, with PyTorch's names and layouts, zeros at first:
///   "in_proj_weight" (3·E, E): W_q, W_k, W_v one below the other; where keys and values have their
///   own width or number of heads instead "q_proj_weight" (E, E), "k_proj_weight" (Hkv·D, key_dim)
///   and "v_proj_weight" (Hkv·D, value_dim); "out_proj.weight" (E, E); and with bias "in_proj_bias"
///   (E + 2·Hkv·D) and "out_proj.bias" (E).
class ATTN_API MultiHeadAttention : public Module {
 public:
  /// Throws kInvalidArgument where the sizes do not divide, kSizeOverflow, kOutOfMemory.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);
  ~MultiHeadAttention() override;
  MultiHeadAttention(MultiHeadAttention&&) noexcept;
  MultiHeadAttention& operator=(MultiHeadAttention&&) noexcept;

  const MultiHeadAttentionOptions& options() const noexcept;
  std::vector<std::string> parameter_names() const override;
  ConstTensor parameter(std::string_view name) const override;
  void set_parameter(std::string_view name, const ConstTensor& values) override;

  /// All projections identical: head h sees slice h of its inputs as they are, and biases are zero.
  /// Throws kInvalidArgument unless keys and values have d_model columns and num_heads heads.
  void initialize_identity();

  /// Each of the four projections by itself drawn by xavier_uniform, from streams 0 (query) to 3
  /// (output) of the seed; biases are zero.
  void initialize_xavier(std::uint64_t seed, Context& context = Context::default_context());

  /// query (B, Nq, E), key (B, Nk, key_dim), value (B, Nk, value_dim), output (B, Nq, E), or all
  /// without B. `attention` is as for scaled_dot_product_attention with Hq = num_heads: masks
  /// broadcast to (B, H, Nq, Nk), and its `weights`, if given, receives (B, H, Nq, Nk).
  /// Throws kShapeMismatch, kInvalidArgument, kOutOfMemory; outputs are then untouched.
  void forward(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
               const Tensor& output, const AttentionOptions& attention = {},
               Context& context = Context::default_context()) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
