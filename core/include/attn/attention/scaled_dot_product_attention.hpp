#pragma once

#include <cstdint>
#include <optional>

#include "attn/any_tensor.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/lengths_view.hpp"
#include "attn/positions/t5_bias.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Which key query i stands at when the sequences differ in length: key i + offset.
class Diagonal {
 public:
  /// Query 0 is at key 0.
  static constexpr Diagonal top_left() { return Diagonal(false, 0); }
  /// The last query is at the last key: offset Nk − Nq, or key_lens[b] − Nq where key_lens are
  /// given.
  static constexpr Diagonal bottom_right() { return Diagonal(true, 0); }
  /// Query 0 is at key `offset`: with a key/value cache, the past length. May be negative.
  static constexpr Diagonal offset(std::int64_t offset) { return Diagonal(false, offset); }

  /// The same for queries that stand `by` places further on: bottom_right() stays what it is.
  [[nodiscard]] constexpr Diagonal shifted(std::int64_t by) const {
    Diagonal result = *this;
    // Offsets near the ends of the range have no effect that differs from that of the end.
    if (__builtin_add_overflow(offset_, by, &result.offset_)) {
      result.offset_ = by < 0 ? INT64_MIN : INT64_MAX;
    }
    return result;
  }

  /// The offset, for sequences of these lengths.
  constexpr std::int64_t resolve(std::int64_t num_queries, std::int64_t num_keys) const {
    return bottom_right_ ? num_keys - num_queries : offset_;
  }

 private:
  constexpr Diagonal(bool bottom_right, std::int64_t offset)
      : bottom_right_(bottom_right), offset_(offset) {}

  bool bottom_right_;
  std::int64_t offset_;
};

/// A sliding window: query i attends to keys j with i + offset − left ≤ j ≤ i + offset + right,
/// where the offset is that of AttentionOptions::diagonal. Sides are 0 or more keys.
struct Window {
  std::optional<std::int64_t> left = {};   ///< none: no bound to the left
  std::optional<std::int64_t> right = {};  ///< none: no bound to the right
};

/// Options, in the order in which they act on a score. Shapes always have B and Hq, which are 1
/// where the call's tensors have none: for queries (Nq, D) weights are (1, 1, Nq, Nk).
struct AttentionOptions {
  /// Factor on q·k, any finite number; 1/√D by default.
  std::optional<float> scale = {};

  /// Which key query i stands at, i + offset: for causal order, the window, and the terms that
  /// depend on the distance j − (i + offset), which are relative keys and values, ALiBi and T5.
  Diagonal diagonal = Diagonal::top_left();

  /// Shaw's relative keys (arXiv:1803.02155): row c of (2k+1, D), or (Hq, 2k+1, D), stands for
  /// distance c − k, the outer ones for all beyond; adds scale · q·a_c to the score. The same for
  /// values, (2k+1, Dv) or (Hq, 2k+1, Dv): output_i += Σ_j weight_ij · a_c. With both, k is the
  /// same.
  ConstTensor relative_keys = {};
  ConstTensor relative_values = {};

  /// When c > 0, scores become c·tanh(score / c) (Gemma 2); 0: none.
  float softcap = 0;

  /// (Hq): adds −slope_h · |distance| (ALiBi, arXiv:2108.12409; see alibi.hpp).
  ConstTensor alibi_slopes = {};
  /// Adds table[bucket(distance), h] (T5; see t5_bias.hpp).
  std::optional<T5Bias> t5_bias = {};
  /// Added; broadcasts to (B, Hq, Nq, Nk) from the right. −∞ excludes. A last size between 2 and Nk
  /// excludes the keys beyond it.
  ConstTensor bias = {};

  // Exclusion. A key takes part when every one of these lets it.

  /// True (not 0) attends; broadcasts to (B, Hq, Nq, Nk) from the right. A last size between 2 and
  /// Nk excludes the keys beyond it.
  ConstMask mask = {};
  /// Query i attends to keys j ≤ i + offset of `diagonal`.
  bool causal = false;
  std::optional<Window> window = {};
  /// The first valid_lens keys are attended to: (B) or (B, Nq), values in [0, Nk].
  LengthsView valid_lens = {};
  /// The number of keys that batch entry b really has, the others being padding: (B), values in
  /// [0, Nk]. Unlike valid_lens they also move Diagonal::bottom_right().
  LengthsView key_lens = {};

  /// (Hq): a further score per head that takes part in the softmax but has no value: adds
  /// exp(sink_h) to the sum that weights are divided by.
  ConstTensor sinks = {};

  /// Probability, 0 to 1, with which a weight is set to 0, the others being divided by 1 − dropout;
  /// for training: above 0 it acts in every call. Whether weight (b, h, i, j) is dropped depends on
  /// the stream, on b, h, i, j and on Hq, Nq and Nk alone: so it differs from one batch entry to
  /// the next, on purpose.
  float dropout = 0;
  RandomStream dropout_random = {};

  // Further outputs, each left out when empty; none may overlap another one, the output or an
  // input. Those of shape (B, Hq, Nq, Nk) cost a second pass.

  Tensor scaled_scores = {};  ///< scale · q·k, and the relative-key term
  Tensor capped_scores = {};  ///< after softcap
  Tensor biased_scores = {};  ///< after bias and exclusion: −∞ where excluded
  Tensor weights = {};        ///< after softmax and dropout
  Tensor log_sum_exp = {};  ///< (B, Hq, Nq): ln Σ_j exp(score_ij) over attended keys, and the sink
};

/// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762):
///
///   output_i = Σ_j softmax_j(scale · q_i·k_j) v_j
///
/// query (B, Hq, Nq, D), key (B, Hkv, Nk, D), value (B, Hkv, Nk, Dv), output (B, Hq, Nq, Dv). Hq is
/// a multiple of Hkv; query head h reads key head h / (Hq/Hkv). All four may also be of rank 3, (B,
/// N, D), or 2, (N, D), then with one head. Any strides; output must not overlap an input.
///
/// Scores go through: scale and relative keys, softcap, bias (ALiBi, T5, additive), exclusion,
/// softmax, dropout. An excluded key or value is not read into the arithmetic: NaN and infinity in
/// it have no effect; in an attended one they have. A query with nothing to attend to gives output
/// 0, weights 0 and log-sum-exp −∞ (or its sink).
///
/// Tensors are float32, float16 or bfloat16, in any mix. Sums, softmax and log-sum-exp are float32
/// whatever they are: the result is that of the same numbers as float32, rounded once to the
/// output's type.
///
/// The instruction sets avx512_bf16, amx_bf16 and neon_bf16 differ where query, key and value are
/// all bfloat16, with their columns side by side, and queries are several: products are then those
/// of bfloat16 pairs, and weights are rounded to bfloat16 before they meet the values. Calls with
/// relative keys or values, with dropout, or that ask for a stage of the scores are computed in
/// float32 there, too.
///
/// Memory beyond inputs and outputs is linear in Nq and Nk.
///
/// Same bits: a result depends on its own batch entry and head (queries, keys, values and options),
/// on Nq and Nk, and on the instruction set. It does not depend on the other entries of the batch,
/// nor on the number of threads, nor on strides, nor on which further outputs are asked for, nor on
/// the caches and the C library of the machine. It may differ in its last bits when the number of
/// queries differs: a single query (Nq = 1, as in decoding) is summed in another order than the
/// same query among several. And with dropout the place in the batch counts, see above.
///
/// Error: rounding of the scores, and so proportional to their size, outweighs the rest. For
/// |scores| ≤ 20 each output is within 2.5e-6·√D·max|v| of the exact value, each weight within
/// 1.3e-6·√D (relatively 1e-5·√D) and log-sum-exp within 3e-6·√D. With relative values max|a| is
/// added to max|v|. Outputs of float16 and bfloat16 are rounded once more, as Float16 and BFloat16
/// say: by up to 2^-11 or 2^-8 of their size. How far numbers were rounded before they came here,
/// no bound tells. By products of bfloat16 pairs output o is off by 2^-8 · Σ_j w_j·|v_j − o| more,
/// for weights w; log-sum-exp by no more than otherwise. Inputs below 2^-126 count as zero there.
///
/// Throws kShapeMismatch where ranks or sizes do not fit together; kInvalidArgument for null data,
/// D = 0 (other sizes may be 0), lengths outside [0, Nk], and options outside their domains;
/// kSizeOverflow for lengths and widths above 2^31 − 1; std::bad_alloc. Outputs are then untouched.
ATTN_API void scaled_dot_product_attention(const ConstAnyTensor& query, const ConstAnyTensor& key,
                                           const ConstAnyTensor& value, const AnyTensor& output,
                                           const AttentionOptions& options = {},
                                           Context& context = Context::default_context());

/// The same over the keys and values of a cache, whatever their type: query (B, Hq, Nq, D), output
/// (B, Hq, Nq, Dv). One query reads the cache in place.
ATTN_API void scaled_dot_product_attention(const ConstAnyTensor& query, const KeyValueCache& cache,
                                           const AnyTensor& output,
                                           const AttentionOptions& options = {},
                                           Context& context = Context::default_context());

}  // namespace attn
