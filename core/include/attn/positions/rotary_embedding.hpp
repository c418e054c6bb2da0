#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
namespace kernels {
struct SinusoidColumns;
}  // namespace kernels
namespace runtime {
class Execution;
}  // namespace runtime

/// Which two columns of a head are rotated together. Both give the same scores if the rows of the
/// weights are ordered accordingly.
enum class RotaryPairing : int {
  /// Columns 2j and 2j + 1: RoFormer, GPT-J, Meta's Llama, torchtune; MLX `traditional=True`; ONNX
  /// `interleaved=1`.
  kInterleaved,
  /// Columns j and j + rotary_dim/2: GPT-NeoX, Llama in Hugging Face's Transformers
  /// ("rotate_half"); MLX `traditional=False`; ONNX `interleaved=0`.
  kHalfSplit,
};

/// Position interpolation (Chen et al. 2023, arXiv:2306.15595), rope_type "linear": ω'_j = ω_j /
/// factor, which has the same effect as dividing all positions by factor. MLX's `scale` is 1 /
/// factor.
struct LinearRotaryScaling {
  double factor = 1;  ///< here and below: any finite number above 0
};

/// Dynamic NTK scaling, rope_type "dynamic": for sequences of length L > max_position_embeddings
///
///   base' = base · (factor·L/max_position_embeddings − (factor − 1))^(d/(d−2)),
///
/// and no change for shorter ones. L is RotaryPositions::sequence_length.
struct DynamicNtkRotaryScaling {
  double factor = 1;
  std::int64_t max_position_embeddings = 2048;
};

/// YaRN (Peng et al. 2023, arXiv:2309.00071), rope_type "yarn": with the ramp
/// r_j = clamp((j − low)/(high − low), 0, 1)
///
///   ω'_j = (1 − r_j)·ω_j + r_j·ω_j/factor,
///   low, high = d·ln(original_max_position_embeddings / (2π·β)) / (2·ln base) for β = beta_fast,
///   beta_slow, with `truncate` rounded down and up, then max(low, 0), min(high, d − 1), and
///   high + 0.001 if they are equal,
///
/// and all cosines and sines are multiplied by the attention factor.
struct YarnRotaryScaling {
  double factor = 1;
  std::int64_t original_max_position_embeddings = 2048;
  /// By default m(factor, mscale) / m(factor, mscale_all_dim) if both are given (as in DeepSeek),
  /// else m(factor, 1); m(s, x) = 0.1·x·ln s + 1 for s > 1, else 1.
  std::optional<double> attention_factor = {};
  double beta_fast = 32;
  double beta_slow = 1;
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};
  bool truncate = true;
};

/// Llama 3.1 and later, rope_type "llama3": with L = original_max_position_embeddings and
/// s_j = (L·ω_j/2π − low_freq_factor) / (high_freq_factor − low_freq_factor), clamped to [0, 1],
///
///   ω'_j = (1 − s_j)·ω_j/factor + s_j·ω_j
struct Llama3RotaryScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

/// p-RoPE (Barbero et al. 2024, arXiv:2410.06205), rope_type "proportional", as in Gemma. The first
/// ⌊partial_rotary_factor · d/2⌋ pairs rotate as usual, ω'_j = ω_j / factor, and the slower ones do
/// not rotate at all, ω'_j = 0. Set rotary_dim to the whole head: a smaller one would pair
/// different columns and rotate them faster.
struct ProportionalRotaryScaling {
  double partial_rotary_factor = 1;  ///< in [0, 1]
  double factor = 1;
};

/// LongRoPE (Ding et al. 2024, arXiv:2402.13753), rope_type "longrope": ω'_j = ω_j / λ_j, where λ
/// is long_factor for sequences of length L > original_max_position_embeddings, and short_factor
/// for shorter ones. L is RotaryPositions::sequence_length. All cosines and sines are multiplied by
/// the attention factor, for sequences of any length.
struct LongRotaryScaling {
  std::vector<double> short_factor = {};  ///< λ_0 … λ_(d/2−1)
  std::vector<double> long_factor = {};
  std::int64_t original_max_position_embeddings = 4096;
  /// How many times longer than in training a sequence may become. Used for the attention factor
  /// only.
  double factor = 1;
  /// By default √(1 + ln factor / ln original_max_position_embeddings) for factor > 1, else 1.
  std::optional<double> attention_factor = {};
};

/// How frequencies are changed to reach beyond the training length or to leave some columns
/// unrotated: not at all, or by one rule.
using RotaryScaling =
    std::variant<std::monostate, LinearRotaryScaling, DynamicNtkRotaryScaling, YarnRotaryScaling,
                 Llama3RotaryScaling, ProportionalRotaryScaling, LongRotaryScaling>;

/// Which axis rotates which pairs, for positions with several axes.
enum class RotaryAxes : int {
  /// The first axis rotates the pairs of the first section, and so on: Qwen2-VL's M-RoPE.
  kSections,
  /// Axis j modulo the number of axes rotates pair j while it has pairs left in its section; the
  /// first axis rotates all others: Qwen3-VL, "mrope_interleaved".
  kInterleaved,
  /// Like kSections, but frequencies start again in each section: ω_i = base^(−i/n) for pair i of a
  /// section of n. Used by vision transformers, including Qwen2-VL's.
  kAxial,
};

struct RotaryEmbeddingOptions {
  /// d: how many leading columns of each head are rotated; must be even. The other columns do not
  /// change. You must set it: 0 is allowed only in AttentionPositions, where it means the whole
  /// head.
  std::int64_t rotary_dim = 0;
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  double base = 10000;
  RotaryScaling scaling = {};
  /// When not empty, ω_0 … ω_(d/2−1) in radians per position, instead of base and scaling.
  /// MLX calls their reciprocals `freqs`.
  std::vector<double> frequencies = {};
  /// If not empty, the number of pairs for each axis of the positions, such as time, height and
  /// width; the sum is d/2. Transformers call it "mrope_section".
  std::vector<std::int64_t> sections = {};
  RotaryAxes axes = RotaryAxes::kSections;
};

/// The positions of the rows of a call.
struct RotaryPositions {
  /// Row i has position start + i. With a key/value cache, pass the past length. Ignored if
  /// `positions` are given.
  double start = 0;
  /// (N), or (B, N) if batch entries have different positions. Positions may be fractional and
  /// negative. With several axes, (A, B, N), or (A, 1, N) if the batch shares them, like
  /// Transformers' position_ids; (N), (B, N) and `start` then give the same position along all
  /// axes, as for text.
  TensorView<const double> positions = {};
  /// L of dynamic NTK scaling and LongRoPE, in [0, 2^53]; by default the largest position + 1.
  std::optional<double> sequence_length = {};
  /// Rotates backwards, which inverts the rotation if the attention factor is 1.
  bool inverse = false;
};

/// Rotary positional embedding (RoPE; Su et al. 2021, arXiv:2104.09864): rotates each pair (x, y)
/// of columns of queries and keys by an angle that grows with the position,
///
///   ⎛ x' ⎞       ⎛ cos(p·ω_j)  −sin(p·ω_j) ⎞   ⎛ x ⎞
///   ⎝ y' ⎠ = a · ⎝ sin(p·ω_j)   cos(p·ω_j) ⎠ · ⎝ y ⎠,   ω_j = base^(−2j/d) or scaled
///
/// so that the score of a query at p and a key at p' depends only on p − p'. a is the attention
/// factor, 1 except with YaRN.
///
/// Scaling rules have the names, parameters and frequencies of `rope_scaling` in Hugging Face's
/// Transformers, with two differences. Frequencies and angles are computed in double precision;
/// theirs are in float32 and off by radians at far positions. And dynamic NTK keeps no state: L
/// belongs to the call, whereas theirs is the longest sequence seen so far.
class ATTN_API RotaryEmbedding {
 public:
  /// Throws kInvalidArgument for an odd rotary_dim or one below 2, a base that is not in [1e-100,
  /// ∞) (with YaRN: above 1), frequencies beyond ±1e100, parameters of the scaling rule outside
  /// their domains, and sections that are negative or, with kInterleaved, too large to alternate;
  /// kShapeMismatch unless there are either no or rotary_dim/2 frequencies, and sections have
  /// either no or rotary_dim/2 pairs; kSizeOverflow.
  explicit RotaryEmbedding(const RotaryEmbeddingOptions& options);

  const RotaryEmbeddingOptions& options() const noexcept { return options_; }

  /// The factor on all cosines and sines.
  double attention_factor() const noexcept { return attention_factor_; }

  /// ω_0 … ω_(d/2−1), in radians per position, for sequences of length sequence_length, on which
  /// only dynamic NTK depends.
  std::vector<double> frequencies(double sequence_length = 0) const;

  /// Rotates x and writes the result to output. x is (B, H, N, D), (B, N, D) or (N, D) with D ≥
  /// rotary_dim; output has the same shape. Both may have any strides; for (B, N, H·D) pass
  /// x.split_heads(H). output may be x itself, otherwise they must not overlap. Both may have any
  /// types: the result is computed in float32 from the exact values of x and rounded once if output
  /// is not float32.
  ///
  /// Error: within a · 1.7e-7 · (|x| + |y|) of the exact rotation for |positions| ≤ 2^24 (2e-7 with
  /// a ≠ 1), caused by the tables below and two to three float operations.
  ///
  /// Bits: a row depends only on its values, position, frequencies, and the instruction set.
  ///
  /// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for positions beyond ±2^53 and
  /// null data; output is then untouched.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const RotaryPositions& positions = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, recorded on the tape of x, which may also be (B, N, num_heads·D)
  /// or (N, num_heads·D). The gradient is rotated backwards with the same factor and the same error
  /// bound. Positions need not outlive the call.
  Variable forward(const Variable& x, const RotaryPositions& positions = {},
                   std::int64_t num_heads = 1) const;

  /// Writes the tables that forward() uses for these positions: cos and sin, each (N, d/2) or (B,
  /// N, d/2), receive a·cos(p·ω_j) and ±a·sin(p·ω_j). With start 0 and shape (N, d/2) they are the
  /// caches that ONNX RotaryEmbedding and apply_rotary_embedding() expect.
  ///
  /// Error: each value is within 3.1e-8 + 1e-15·|p| of the exact one for |ω_j| ≤ 1 before scaling
  /// (4.8e-8 at position 2^24), within a·(6e-8 + 1e-15·|p|) with a ≠ 1. Without scaling it is
  /// 4.5e-16 instead of 1e-15. Frequencies above 1 multiply the second term. With YaRN's `truncate`
  /// off, that term grows if high − low is small, because the ramp is then steep.
  ///
  /// Throws what forward() throws.
  void tables(const Tensor& cos, const Tensor& sin, const RotaryPositions& positions = {},
              Context& context = Context::default_context()) const;

 private:
  /// The columns of a table for a call with the given largest position.
  ATTN_LOCAL kernels::SinusoidColumns columns(const RotaryPositions& positions, double largest,
                                              runtime::Execution& run) const;

  RotaryEmbeddingOptions options_;
  double attention_factor_ = 1;
  /// Columns of a table as the kernels expect them: all cosines, then all sines, with the columns
  /// of each axis contiguous.
  std::vector<double> turns_;
  std::vector<double> offsets_;
  std::vector<std::int64_t> ends_;  ///< end of each axis' columns among the cosines
  std::vector<std::int64_t> pair_;  ///< pair of each column; empty if it equals the column's number
};

struct RotaryCacheOptions {
  /// The row of the caches for each token: (N) or (B, N). By default row i of a sequence uses row i
  /// of the caches.
  TensorView<const std::int64_t> position_ids = {};
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  /// The number of columns rotated in each head; 0 means twice the width of the caches. ONNX's
  /// rotary_embedding_dim.
  std::int64_t rotary_dim = 0;
  bool inverse = false;
};

/// ONNX's operator RotaryEmbedding (opset 23): rotates with given tables instead of angles.
///
/// x and output are as in RotaryEmbedding::forward and may have any types; the tables are float32.
/// For ONNX's 3-D input (B, N, H·D) with num_heads = H, pass x.split_heads(H). cos_cache and
/// sin_cache are (rows, rotary_dim/2) with position_ids, and (B, N, rotary_dim/2) or (N or more
/// rows, rotary_dim/2) without. Their values are used unchanged. From the doubled tables of Hugging
/// Face's Transformers, (B, N, rotary_dim), pass the first half: cos.slice(-1, 0, rotary_dim / 2).
///
/// Error: 1.2e-7 · (|x·cos| + |y·sin|) for x, and with sin and cos swapped for y.
///
/// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for a rotary_dim that is odd or
/// negative, position_ids outside the caches and null data; output is then untouched.
ATTN_API void apply_rotary_embedding(const ConstAnyTensor& x, const ConstTensor& cos_cache,
                                     const ConstTensor& sin_cache, const AnyTensor& output,
                                     const RotaryCacheOptions& options = {},
                                     Context& context = Context::default_context());

}  // namespace attn
