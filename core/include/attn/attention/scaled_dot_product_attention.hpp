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

/// Aligns queries with keys when the sequences differ in length: query i is at key i + offset.
class Diagonal {
 public:
  /// Aligns the first query with the first key: the offset is 0.
  static constexpr Diagonal top_left() { return Diagonal(false, 0); }
  /// Aligns the last query with the last key: the offset is Nk − Nq, or key_lens[b] − Nq if
  /// key_lens are given.
  static constexpr Diagonal bottom_right() { return Diagonal(true, 0); }
  /// Aligns query 0 with key `offset`, which may be negative. When you decode with a key/value
  /// cache, pass the past length.
  static constexpr Diagonal offset(std::int64_t offset) { return Diagonal(false, offset); }

  /// Returns the diagonal for queries that are `by` positions later, whose offset is larger by this
  /// number. A bottom_right() diagonal does not change.
  [[nodiscard]] constexpr Diagonal shifted(std::int64_t by) const {
    Diagonal result = *this;
    // The offset saturates instead of overflowing. All offsets with such large magnitudes have the
    // same effect.
    if (__builtin_add_overflow(offset_, by, &result.offset_)) {
      result.offset_ = by < 0 ? INT64_MIN : INT64_MAX;
    }
    return result;
  }

  /// Returns the offset for `num_queries` queries and `num_keys` keys.
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
/// with the offset of AttentionOptions::diagonal. Each side is a number of keys, 0 or more.
struct Window {
  std::optional<std::int64_t> left = {};   ///< number of keys before the query's own; none means no
                                           ///< limit
  std::optional<std::int64_t> right = {};  ///< number of keys after the query's own; none means no
                                           ///< limit
};

/// Options of scaled_dot_product_attention(), in the order in which they act on a score. The shapes
/// of options always include B and Hq, which are 1 if the call's tensors lack these dimensions. For
/// queries (Nq, D), for example, the weights are (1, 1, Nq, Nk).
struct AttentionOptions {
  /// The factor on q·k: any finite number, 1/√D by default.
  std::optional<float> scale = {};

  /// Puts query i at key i + offset. This determines the causal order, the window, and the terms
  /// that depend on the distance j − (i + offset): relative keys and values, ALiBi and T5.
  Diagonal diagonal = Diagonal::top_left();

  /// Shaw's relative keys (arXiv:1803.02155), (2k+1, D) or (Hq, 2k+1, D), add scale · q·a_c to the
  /// score. Row c is for distance c − k. Distances below −k use the first row, and distances above
  /// k use the last row. Relative values, (2k+1, Dv) or (Hq, 2k+1, Dv), act in the same way:
  /// output_i += Σ_j weight_ij · a_c. If you set both, they must have the same k.
  ConstTensor relative_keys = {};
  ConstTensor relative_values = {};

  /// With a softcap c > 0, scores become c·tanh(score / c) (Gemma 2). 0 means no softcap.
  float softcap = 0;

  /// ALiBi slopes (Hq), which add −slope_h · |distance| to the scores of head h (arXiv:2108.12409;
  /// see alibi.hpp).
  ConstTensor alibi_slopes = {};
  /// Adds table[bucket(distance), h] to the scores of head h (T5; see t5_bias.hpp).
  std::optional<T5Bias> t5_bias = {};
  /// A bias that is added to the scores. It broadcasts to (B, Hq, Nq, Nk), aligned at the last
  /// dimension. −∞ excludes a key. If the bias has fewer than Nk columns (but at least 2), the
  /// remaining keys are excluded.
  ConstTensor bias = {};

  // Exclusion: a key takes part if all of the following options allow it.

  /// A query attends to a key where the mask is true (not 0). The mask broadcasts to (B, Hq, Nq,
  /// Nk), aligned at the last dimension. If the mask has fewer than Nk columns (but at least 2),
  /// the remaining keys are excluded.
  ConstMask mask = {};
  /// Query i attends only to keys j ≤ i + offset, with the offset of `diagonal`.
  bool causal = false;
  std::optional<Window> window = {};
  /// Queries attend only to the first valid_lens keys. Shape (B) or (B, Nq), values in [0, Nk].
  LengthsView valid_lens = {};
  /// The number of keys in each batch entry that are not padding. Shape (B), values in [0, Nk].
  /// Unlike valid_lens, key_lens also move Diagonal::bottom_right().
  LengthsView key_lens = {};
  /// Packs sequences of different lengths one after the other, without padding: the queries of
  /// sequence s are rows cu_seqlens[s] … cu_seqlens[s + 1] − 1 of a batch of one. Shape (S + 1).
  /// The numbers start at 0, never decrease, and end with Nq. Each sequence attends only to itself.
  /// `diagonal`, causal order, window and distances count from its own first query and key.
  ///
  /// Each sequence gets the bits that a separate call would give, with three exceptions. A sequence
  /// with a single query is summed like a query among several. If one sequence has more than 16
  /// keys, a call with products of bfloat16 pairs uses these products for the shorter sequences
  /// too, even where a separate call would use float32. Dropout uses different random numbers.
  ///
  /// cu_seqlens cannot be combined with a mask, an additive bias, valid_lens, key_lens, or outputs
  /// of shape (B, Hq, Nq, Nk).
  LengthsView cu_seqlens = {};
  /// Like cu_seqlens, but for the keys. Set it if a sequence has different numbers of queries and
  /// keys. Shape (S + 1); the last number is Nk. The default is cu_seqlens.
  LengthsView cu_seqlens_k = {};

  /// One extra score per head (Hq), which takes part in the softmax but has no value. The extra
  /// score adds exp(sink_h) to the denominator of the weights.
  ConstTensor sinks = {};

  /// The probability, from 0 to 1, of setting a weight to 0; the other weights are divided by 1 −
  /// dropout. Set it only in training: a value above 0 takes effect in every call. Whether weight
  /// (b, h, i, j) is dropped depends only on the stream, on b, h, i, j and on Hq, Nq and Nk. By
  /// design, the pattern therefore differs between batch entries.
  float dropout = 0;
  RandomStream dropout_random = {};

  // Optional outputs. Each is computed only if it is set. They must not overlap one another, the
  // output or an input. To compute column_sums and outputs of shape (B, Hq, Nq, Nk), attention
  // usually computes the scores a second time.

  Tensor scaled_scores = {};  ///< scores: scale · q·k plus the relative-key term
  Tensor capped_scores = {};  ///< scores after softcap
  Tensor biased_scores = {};  ///< scores after bias and exclusion; −∞ for excluded keys
  Tensor weights = {};        ///< attention weights after softmax and dropout
  Tensor log_sum_exp = {};    ///< (B, Hq, Nq): ln Σ_j exp(score_ij) over attended keys and the sink
  /// (B, Hq, Nk): Σ_i weight_ij, the attention that key j receives from all queries, after dropout.
  /// A key that no query attends to gets 0. Caches drop the keys with small sums first.
  ///
  ///   attn::OwnedTensor sums({batch, heads, keys});
  ///   attn::scaled_dot_product_attention(q, k, v, output, {.causal = true, .column_sums = sums});
  Tensor column_sums = {};
};

/// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762):
///
///   output_i = Σ_j softmax_j(scale · q_i·k_j) v_j
///
/// `query` is (B, Hq, Nq, D), `key` (B, Hkv, Nk, D), `value` (B, Hkv, Nk, Dv) and `output` (B, Hq,
/// Nq, Dv). Hq is a multiple of Hkv; query head h reads key head h / (Hq/Hkv). All four may also
/// have rank 3, (B, N, D), or 2, (N, D), and then have one head. They may have any strides;
/// `output` must not overlap an input.
///
/// Scores pass through scale and relative keys, softcap, bias (ALiBi, T5, additive), exclusion,
/// softmax and dropout, in this order. Excluded keys and values do not enter the arithmetic: NaN
/// and infinity affect results only if they are in attended keys and values. A query with nothing
/// to attend to gets output 0, weights 0 and log-sum-exp −∞ (or its sink).
///
/// Tensors are float32, float16 or bfloat16, in any mix. Sums, softmax and log-sum-exp are always
/// float32, so a call with 16-bit tensors gives the same result as a call with float32 tensors of
/// the same values, rounded once to the output's type.
///
/// The instruction sets avx512_bf16, amx_bf16 and neon_bf16 also compute with bfloat16. If query,
/// key and value are all bfloat16 with contiguous columns and there are several queries, these
/// instruction sets multiply pairs of bfloat16 numbers, and round weights to bfloat16 before
/// multiplying them by the values. They still use float32 for calls that have relative keys or
/// values, use dropout, or request scores, weights or column sums.
///
/// Memory beyond inputs and outputs is linear in Nq and Nk, except that a mask or a bias takes one
/// byte for every 1,024 of its elements.
///
/// Exclusion saves time. Keys are processed in tiles of 64 or 128 keys by 48 or 64 queries. A tile
/// is skipped if causal order, windows, lengths, the mask or a bias of −∞ exclude all of it, and
/// its keys are not tested one by one if the mask excludes none of it. Skipping does not change the
/// bits of a result. Tiles never contain keys of two packed sequences.
///
/// Reproducibility: the bits of a result depend on its own batch entry and head (queries, keys,
/// values and options), on Nq and Nk, and on the instruction set. They do not depend on the other
/// batch entries, the number of threads, the strides, the optional outputs that you request, or the
/// machine's caches and C library. The last bits may differ when the number of queries differs: a
/// single query (Nq = 1, as in decoding) is summed in a different order from the same query among
/// several. With dropout, a result also depends on its index in the batch.
///
/// Error: the rounding of scores dominates and grows with their magnitude. For |scores| ≤ 20 each
/// output is within 2.5e-6·√D·max|v| of the exact value, each weight is within 1.3e-6·√D (with a
/// relative error of at most 1e-5·√D), and each log-sum-exp is within 3e-6·√D. Column sums have a
/// relative error of at most 2e-5·√D for up to 2^16 queries. With relative values, add max|a| to
/// max|v|. Outputs in smaller types are rounded once more, by up to 2^-11 of their magnitude in
/// float16 and by up to 2^-8 in bfloat16 (see Float16 and BFloat16). The bounds do not include
/// errors that arose when inputs were rounded before the call. With products of bfloat16 pairs, the
/// bound on an output o with weights w is larger by 2^-8 · Σ_j w_j·|v_j − o|, and the bound on
/// log-sum-exps is the same. Inputs with a magnitude below 2^-126 then count as zero. For a single
/// query over an int8 cache, avx512_vnni, avx512_bf16, amx_bf16, neon_dotprod and neon_bf16 round
/// the scaled query and the weights to 24-bit integers. This changes a score by at most
/// 2^-22·max|scale·q|·Σ_d |k_d|, and the bound on an output is larger by 2^-17·max|v|.
///
/// Throws kShapeMismatch if ranks or sizes do not fit together. Throws kInvalidArgument for a null
/// data pointer, D = 0 (other sizes may be 0), lengths outside [0, Nk], or options outside their
/// domains. Throws kSizeOverflow for lengths or widths above 2^31 − 1. May also throw
/// std::bad_alloc. If it throws, outputs are unchanged.
ATTN_API void scaled_dot_product_attention(const ConstAnyTensor& query, const ConstAnyTensor& key,
                                           const ConstAnyTensor& value, const AnyTensor& output,
                                           const AttentionOptions& options = {},
                                           Context& context = Context::default_context());

/// Attends to the keys and values of a cache. The cache may have any type. `query` is (B, Hq, Nq,
/// D) and `output` (B, Hq, Nq, Dv). A single query reads the cache in place.
ATTN_API void scaled_dot_product_attention(const ConstAnyTensor& query, const KeyValueCache& cache,
                                           const AnyTensor& output,
                                           const AttentionOptions& options = {},
                                           Context& context = Context::default_context());

}  // namespace attn
