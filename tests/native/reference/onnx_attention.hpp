#pragma once

#include <cstdint>
#include <optional>

#include "reference/array.hpp"

namespace reference {

/// A node of the ONNX operator Attention, opsets 23 to 25, under ONNX's names.
struct OnnxAttention {
  Array q;  ///< (B, Hq, Nq, D), or (B, Nq, Hq·D) if q_num_heads is given
  Array k;  ///< (B, Hkv, Nk, D), or (B, Nk, Hkv·D) if kv_num_heads is given
  Array v;  ///< (B, Hkv, Nk, Dv), or (B, Nk, Hkv·Dv)
  /// Broadcasts to (B, Hq, Nq, past + Nk), aligned from the right. The last dimension may be
  /// shorter.
  Array attn_mask;
  bool attn_mask_is_boolean = false;
  Array past_key;          ///< (B, Hkv, past, D)
  Array past_value;        ///< (B, Hkv, past, Dv)
  Array nonpad_kv_seqlen;  ///< (B)

  bool is_causal = false;
  std::int64_t q_num_heads = 0;
  std::int64_t kv_num_heads = 0;
  int qk_matmul_output_mode = 0;
  std::optional<double> scale;
  double softcap = 0;
  /// Bits of the significand of softmax_precision: 53 for DOUBLE, 24 for FLOAT, 11 for FLOAT16, 8
  /// for BFLOAT16.
  int softmax_digits = 53;
  std::int64_t left_window_size = -1;
  std::int64_t right_window_size = -1;
};

struct OnnxAttentionResult {
  Array y;  ///< output with the rank of q
  Array present_key;
  Array present_value;
  Array qk_matmul_output;  ///< (B, Hq, Nq, past + Nk), in the requested mode
  /// Bounds on the errors of float32 arithmetic in the scores of modes 0 to 2: γ_n = n·2⁻²⁴ times
  /// the sum of the magnitudes of n terms, plus one rounding for each further step.
  Array score_error;
  double largest_score = 0;  ///< the largest finite |score| after softcap and bias
};

/// Computes the ONNX operator as its specification describes it. Every tensor is computed in full:
/// heads are split, caches are concatenated and heads are repeated. One bias of shape (B, Hq, Nq,
/// past + Nk) contains mask, causal order, windows and padding as 0 and −∞. The softmax of the
/// biased scores then multiplies the values. A row of −∞ gives zeros, as the specification has
/// required since 2026; before that, the softmax of such a row was NaN.
OnnxAttentionResult onnx_attention(const OnnxAttention&);

}  // namespace reference
